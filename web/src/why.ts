// Why a query matches or does not: what is likely wrong, how far its runs come, and the nearest misses.

import type { Diagnosis } from "./api";
import { element, number } from "./dom";

export function whyView(found: Diagnosis): HTMLElement[] {
  const all = number(found.seen.events);
  const some = found.coverage ? `Found on a part: ${found.coverage}. The matches are those of all events.` : `Found on all ${all} events.`;
  return [
    element("p", { class: "hint" }, some),
    ...found.hints.map(hint),
    ...changes(found),
    ...funnel(found),
    ...misses(found),
  ];
}

function changes(found: Diagnosis): HTMLElement[] {
  if (!found.changes.length) return [];
  const rows = found.changes.map((one) => element("li", {}, element("code", {}, one.text), element("span", {}, one.said)));
  return [element("h2", {}, `What one change would give${found.tried}`), element("ul", { class: "changes" }, ...rows)];
}

function hint(one: Diagnosis["hints"][number]): HTMLElement {
  return element(
    "div",
    { class: "note warning" },
    element("p", {}, element("code", {}, one.code), ` ${one.message}`),
    element("p", { class: "remedy" }, one.remedy),
  );
}

function funnel(found: Diagnosis): HTMLElement[] {
  const most = Math.max(1, ...found.funnel.map((step) => step.runs));
  const several = new Set(found.funnel.map((step) => step.query)).size > 1;
  const steps = found.funnel.flatMap((step, at) => {
    const first = several && step.query !== found.funnel[at - 1]?.query;
    const ended = Object.entries(step.ended)
      .filter(([reason]) => reason !== "matches") // which the last line says
      .map(([reason, count]) => element("p", { class: "ended" }, `${runs(count)} ended here: ${reason}`));
    const line = bar(`${step.types.join(" or ")} ${step.component}`.trim(), step.runs / most, step.said);
    return [
      ...(first ? [element("li", { class: "of" }, step.query)] : []),
      element("li", {}, line, ...step.tests.map(test), ...ended),
    ];
  });
  // Runs of some events and matches of all are not to be compared.
  const share = found.coverage || typeof found.matches !== "number" ? null : Math.min(1, found.matches / most);
  return [
    element("h2", {}, "How far the query gets"),
    element("p", { class: "hint" }, "A run begins with each event that the first part of the pattern takes."),
    element("ol", { class: "funnel" }, ...steps, element("li", {}, bar("match", share, found.said))),
  ];
}

function bar(name: string, share: number | null, said: string): HTMLElement {
  const meter =
    share === null ? element("span", {}) : element("span", { class: "meter" }, element("i", { style: `width:${100 * share}%` }));
  return element("div", { class: "step" }, element("b", {}, name), meter, element("span", {}, said));
}

function runs(count: number): string {
  return count === 1 ? "1 run" : `${number(count)} runs`;
}

function test(one: Diagnosis["funnel"][number]["tests"][number]): HTMLElement {
  const share = one.tested ? ` (${((100 * one.passed) / one.tested).toFixed(1)}%)` : "";
  return element(
    "p",
    { class: one.passed ? "test" : "test none" },
    element("code", {}, one.text),
    ` true ${number(one.passed)} of ${number(one.tested)} times${share}`,
  );
}

function misses(found: Diagnosis): HTMLElement[] {
  if (!found.misses.length) return [];
  const shown = found.misses.map((miss) =>
    element(
      "li",
      {},
      ...miss.events.map((one) => element("p", {}, element("b", {}, one.component), ` ${one.event}`)),
      miss.refused ? element("p", {}, miss.events.length ? element("b", {}, "then ") : null, miss.refused.event) : null,
      element("p", { class: "reason" }, miss.reason),
    ),
  );
  return [element("h2", {}, "Nearest misses"), element("ol", { class: "misses" }, ...shown)];
}
