// A stream of Spark, looked at every few seconds.

import { get, type MicroBatch, type Watched } from "./api";
import { element, number } from "./dom";
import { matchTable } from "./table";

const SECONDS = 2;
const TITLES = {
  running: "The stream is running",
  silent: "No new micro-batches",
  dead: "The stream has stopped",
  none: "No stream yet",
};

export function watch(main: HTMLElement): void {
  const frame = element("section", { class: "watch" });
  main.replaceChildren(frame);
  const look = async () => {
    try {
      frame.replaceChildren(...view(await get<Watched>("watch")));
    } catch {
      frame.replaceChildren(
        banner("dead", "The server does not answer", "Start cepheid studio again, and open the address that it prints."),
      );
    }
    setTimeout(look, SECONDS * 1000);
  };
  void look();
}

function banner(status: string, title: string, told: string): HTMLElement {
  return element("div", { class: `banner ${status}`, role: "status" }, element("strong", {}, title), element("p", {}, told));
}

function view(found: Watched): HTMLElement[] {
  const parts = [banner(found.status, TITLES[found.status], found.told)];
  if (found.batches.length) parts.push(figures(found), batches(found.batches));
  if (found.matches === null) {
    parts.push(element("p", { class: "hint" }, "To see the last matches here, start the studio with --matches DIR, the folder that the stream writes to."));
  } else if (found.matches.rows.length) {
    parts.push(element("h2", {}, "Last matches"), matchTable(found.matches, { time: "ts", type: "type" }));
  } else {
    parts.push(element("p", { class: "hint" }, "No matches have been written yet."));
  }
  return parts;
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
      [`events in ${told.batches} micro-batches`, number(told.events)],
      [`matches in ${told.batches} micro-batches`, number(told.matches)],
      [`late events in ${told.batches} micro-batches`, number(told.late)],
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
    element("figcaption", {}, `How long each of the last ${all.length} micro-batches took: at most ${longest.toFixed(1)} seconds`),
    element("div", { class: "bars" }, ...bars),
  );
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
