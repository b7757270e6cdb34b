// What the server is asked, and the shapes of its answers.

export interface Problem {
  severity: "error" | "warning";
  code: string;
  message: string;
  remedy: string;
  line?: number | null;
  column?: number | null;
  start?: number | null;
  end?: number | null;
}

export interface ColumnFacts {
  name: string;
  type: string;
  role: string | null;
  samples: unknown[];
  nulls: number;
  low: unknown;
  high: unknown;
}

export type Form = "text" | "python";

export interface State {
  name: string;
  text: string;
  watches: boolean;
  status: "reading" | "ready" | "failed";
  share: number;
  problem: Problem | null;
  events: { rows: number; columns: ColumnFacts[]; types: [string, number][] | null } | null;
}

export interface Constant {
  start: number;
  end: number;
  value: number;
  whole: boolean;
  label: string;
  unit: string | null;
  low: number;
  high: number;
  step: number;
}

export type Row = Record<string, unknown>;

export interface Rows {
  columns: string[];
  rows: Row[];
}

export interface Found extends Rows {
  kind: "matches";
  on: "sample" | "all";
  events: number;
  seconds: number;
  count: number | string; // a text if it is too large for a number
  said: string; // the count as one reads it, with its noun
  warnings: Problem[];
}

export interface Diagnosis {
  seen: { events: number };
  sampled: number;
  coverage: string; // what of the stream the runs are known of; empty: all
  matches: number | string;
  said: string;
  hints: { code: string; message: string; remedy: string }[];
  tried: string; // on which events the changes were tried; empty: all
  changes: { text: string; said: string }[];
  funnel: {
    query: string;
    component: string;
    types: string[];
    runs: number;
    said: string;
    tests: { text: string; tested: number; passed: number }[];
    ended: Record<string, number>;
  }[];
  misses: { events: Taken[]; refused: Taken | null; reason: string }[];
}

export interface Taken {
  component: string;
  event: string;
}

export type Line =
  | Found
  | { kind: "stopped" | "no events" }
  | { kind: "reading"; share: number }
  | { kind: "progress"; on: "sample" | "all"; events: number; total: number }
  | { kind: "timeline"; on: string; svg: string | null }
  | { kind: "explained"; text: string; svgs: string[] }
  | { kind: "diagnosed"; diagnosis: Diagnosis }
  | ({ kind: "error" } & Problem);

export interface MicroBatch {
  number: number;
  began: number;
  ended: number | null;
  watermark: number | null;
}

export interface Watched {
  status: "running" | "silent" | "ended" | "dead" | "none";
  told: string;
  now: number;
  batches: MicroBatch[];
  watermark: number | null;
  state_bytes: number;
  recorded: {
    batches: number;
    events_per_second: number | null;
    events: number;
    matches: number;
    late: number;
    runs: number;
  } | null;
  matches: (Rows & { written: number | null }) | null;
}

// Requests of one page: a newer one ends the older one of its kind.
export const page = crypto.randomUUID();

const headers = { "content-type": "application/json" };

// The server has ended, or is not the one that this page is of.
export class Gone extends Error {}

async function answer(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, init);
  } catch (error) {
    throw init.signal?.aborted ? error : new Gone();
  }
  if (response.status === 403) throw new Gone();
  if (!response.ok) throw new Error(await response.text());
  return response;
}

export async function get<T>(path: string): Promise<T> {
  return (await (await answer(path)).json()) as T;
}

// An answer, or the problem that the text has.
export async function ask<T>(kind: string, body: object): Promise<T | { problem: Problem }> {
  const found = await answer(kind, { method: "POST", headers, body: JSON.stringify(body) });
  return (await found.json()) as T;
}

// What a piece of work tells, line by line.
export async function tell(
  kind: string,
  body: object,
  signal: AbortSignal,
  hear: (line: Line) => void,
): Promise<void> {
  const response = await answer(kind, { method: "POST", headers, signal, body: JSON.stringify({ ...body, page }) });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let answered = false;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : new Gone();
    });
    if (done && !answered) throw new Gone(); // the server ended in the middle of it
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const line = JSON.parse(text) as Line;
      answered ||= line.kind !== "progress" && line.kind !== "reading";
      hear(line);
    }
  }
}

// The server counts characters, the browser halves of them where they are beyond the first plane.
export function toBrowser(text: string, place: number): number {
  return [...text].slice(0, place).join("").length;
}

export function toServer(text: string, place: number): number {
  return [...text.slice(0, place)].length;
}
