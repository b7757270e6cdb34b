// Why a query matches or does not: what is likely wrong, how far its runs come, and the nearest misses.

import type { Diagnosis } from "./api";
import { element, number } from "./dom";

export function whyView(found: Diagnosis): HTMLElement[] {
  const all = number(found.seen.events);
  const some =
    found.sampled < found.seen.events
      ? `Found on ${number(found.sampled)} of the ${all} events. The matches are those of all events.`
      : `Found on all ${all} events.`;
  return [
    element("p", { class: "hint" }, some),
    ...found.hints.map(hint),
    ...funnel(found),
    ...misses(found),
  ];
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
  const steps = found.funnel.map((step) =>
    element(
      "li",
      {},
      element(
        "div",
        { class: "step" },
        element("b", {}, `${step.types.join(" or ")} ${step.component}`.trim()),
        element("span", { class: "meter" }, element("i", { style: `width:${(100 * step.runs) / most}%` })),
        element("span", {}, runs(step.runs)),
      ),
      ...step.tests.map(test),
      ...Object.entries(step.ended)
        .filter(([reason]) => reason !== "matches") // which the last line says
        .map(([reason, count]) => element("p", { class: "ended" }, `${runs(count)} ended here: ${reason}`)),
    ),
  );
  const last = element(
    "li",
    {},
    element(
      "div",
      { class: "step" },
      element("b", {}, "match"),
      // Runs of some events and matches of all are not to be compared.
      found.sampled < found.seen.events
        ? element("span", {})
        : element("span", { class: "meter" }, element("i", { style: `width:${Math.min(100, (100 * found.matches) / most)}%` })),
      element("span", {}, found.matches === 1 ? "1 match" : `${number(found.matches)} matches`),
    ),
  );
  return [
    element("h2", {}, "How far the query gets"),
    element("p", { class: "hint" }, "A run begins with each event that the first part of the pattern takes."),
    element("ol", { class: "funnel" }, ...steps, last),
  ];
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
      miss.refused ? element("p", {}, element("b", {}, "then"), ` ${miss.refused.event}`) : null,
      element("p", { class: "reason" }, miss.reason),
    ),
  );
  return [element("h2", {}, "Nearest misses"), element("ol", { class: "misses" }, ...shown)];
}
