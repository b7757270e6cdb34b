// A stream of Spark, looked at every few seconds.

import { get, type MicroBatch, type Watched } from "./api";
import { element, number } from "./dom";
import { matchTable } from "./table";

const SECONDS = 2;
const TITLES = {
  running: "The stream is running",
  silent: "No new micro-batches",
  ended: "The stream has ended",
  dead: "The stream has stopped",
  none: "No stream yet",
};

export function watch(main: HTMLElement): void {
  const [state, figuresOf, matches] = [part(), part(), part()];
  main.replaceChildren(element("section", { class: "watch" }, state.frame, figuresOf.frame, matches.frame));
  const look = async () => {
    try {
      const found = await get<Watched>("watch");
      state.show([found.status, found.told], () => [banner(found.status, TITLES[found.status], found.told)]);
      figuresOf.show([found.batches, found.watermark, found.state_bytes, found.recorded], () =>
        found.batches.length ? [figures(found), batches(found.batches)] : [],
      );
      matches.show(found.matches, () => lastMatches(found.matches));
    } catch {
      const told = "Start cepheid studio again, and open the address that it prints.";
      state.show(told, () => [banner("dead", "The server does not answer", told)]);
    }
    setTimeout(look, SECONDS * 1000);
  };
  void look();
}

// A part of the page that is made anew only when what it shows has changed: else it would lose how far it is scrolled,
// and be read out again.
function part(): { frame: HTMLElement; show(facts: unknown, make: () => HTMLElement[]): void } {
  const frame = element("div");
  let before = "";
  return {
    frame,
    show(facts, make) {
      const now = JSON.stringify(facts);
      if (now !== before) frame.replaceChildren(...make());
      before = now;
    },
  };
}

function banner(status: string, title: string, told: string): HTMLElement {
  return element("div", { class: `banner ${status}`, role: "status" }, element("strong", {}, title), element("p", {}, told));
}

function lastMatches(found: Watched["matches"]): HTMLElement[] {
  if (found === null) {
    return [element("p", { class: "hint" }, "To see the last matches here, start the studio with --matches DIR, the folder that the stream writes to.")];
  }
  if (!found.rows.length) return [element("p", { class: "hint" }, "No matches have been written yet.")];
  return [element("h2", {}, "Last matches"), matchTable(found, { time: "ts", type: "type" })];
}

function figures(found: Watched): HTMLElement {
  const ended = found.batches.filter((one) => one.ended !== null);
  const last = found.batches[found.batches.length - 1];
  const first = ended[0];
  const span = first && ended.length > 1 ? (ended[ended.length - 1]!.ended! - first.ended!) / 60 : 0;
  const facts: [string, string][] = [
    ["watermark", found.watermark === null ? "none yet" : `${moment(found.watermark)} UTC`],
    ["micro-batches", last ? number(last.number + 1) : "0"],
    ["micro-batches per minute", span > 0 ? ((ended.length - 1) / span).toFixed(1) : "–"],
    ["state on disk", bytes(found.state_bytes)],
  ];
  const told = found.recorded;
  if (told !== null) {
    facts.push(
      ["events per second", told.events_per_second === null ? "–" : number(told.events_per_second)],
      [`events in ${microBatches(told.batches)}`, number(told.events)],
      [`matches in ${microBatches(told.batches)}`, number(told.matches)],
      [`late events in ${microBatches(told.batches)}`, number(told.late)],
      ["open runs", number(told.runs)],
    );
  }
  return element(
    "dl",
    { class: "figures" },
    ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

// How long each micro-batch took; one that has not ended is hatched.
function batches(all: MicroBatch[]): HTMLElement {
  const taken = all.map((one) => (one.ended === null ? null : Math.max(0, one.ended - one.began)));
  const longest = Math.max(0.001, ...taken.map((one) => one ?? 0));
  const said = `How long each of the last ${microBatches(all.length)} took: at most ${longest.toFixed(1)} seconds`;
  const bars = all.map((one, at) => {
    const seconds = taken[at];
    const open = seconds === null || seconds === undefined;
    const height = open ? 100 : Math.max(2, (100 * seconds) / longest);
    const title = open ? `micro-batch ${one.number} has not ended` : `micro-batch ${one.number}: ${seconds.toFixed(1)} seconds`;
    return element("i", { class: open ? "open" : "", style: `height:${height}%`, title });
  });
  return element(
    "figure",
    {},
    element("figcaption", {}, taken.every((one) => one === null) ? "The first micro-batch has not ended yet." : said),
    element("div", { class: "bars" }, ...bars),
  );
}

function microBatches(count: number): string {
  return count === 1 ? "1 micro-batch" : `${number(count)} micro-batches`;
}

function moment(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("T", " ").slice(0, 19);
}

function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  let at = 0;
  while (count >= 1000 && at < units.length - 1) {
    count /= 1000;
    at += 1;
  }
  return `${at ? count.toFixed(1) : count} ${units[at]}`;
}
