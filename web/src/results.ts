// What is beside the editor: matches, automaton, why and why not, and the events.

import type { Diagnosis, Found, Problem, State } from "./api";
import { button, element, number, picture } from "./dom";
import { clock, matchTable, type Roles } from "./table";
import { whyView } from "./why";

const TABS = { matches: "Matches", automaton: "Automaton", why: "Why", events: "Events" } as const;
export type Tab = keyof typeof TABS;

export interface Results {
  tab(): Tab;
  open(tab: Tab): void;
  working(text: string): void;
  // A run begins: says so if there is nothing to look at yet.
  starting(): void;
  // How much of all events a run has gone over; null: it has ended.
  share(now: number | null): void;
  // The matches change quickly now: their time line is older than their number.
  moving(): void;
  matches(found: Found): void;
  timeline(svg: string | null): void;
  failed(problem: Problem): void;
  empty(hint: Node): void;
  explained(text: string, svgs: string[]): void;
  diagnosed(found: Diagnosis): void;
  waiting(tab: "automaton" | "why"): void;
  // Why a tab can't be filled.
  unclear(tab: "automaton" | "why", problem: Problem): void;
  events(state: State): void;
}

export function makeResults(parent: HTMLElement, opened: (tab: Tab) => void): Results {
  const buttons = {} as Record<Tab, HTMLButtonElement>;
  const panels = {} as Record<Tab, HTMLElement>;
  let current: Tab = "matches";
  let filled = false; // matches are shown, of this text or an older one
  let roles: Roles = { time: "ts", type: "type" };

  const open = (tab: Tab) => {
    current = tab;
    for (const name of Object.keys(TABS) as Tab[]) {
      buttons[name].setAttribute("aria-selected", String(name === tab));
      buttons[name].tabIndex = name === tab ? 0 : -1; // arrow keys go from one to the next
      panels[name].hidden = name !== tab;
    }
    opened(tab);
  };
  for (const name of Object.keys(TABS) as Tab[]) {
    buttons[name] = button(TABS[name], () => open(name), { role: "tab", id: `tab-${name}`, "aria-controls": name });
    panels[name] = element("div", { id: name, role: "tabpanel", "aria-labelledby": `tab-${name}` });
  }
  const count = element("span", { class: "count" }); // seen from the other tabs, too, while a slider is dragged
  buttons.matches.append(" ", count);
  parent.addEventListener("keydown", (event) => {
    const names = Object.keys(TABS) as Tab[];
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: names.length - 1 };
    const step = steps[event.key];
    if (step === undefined || !(event.target instanceof Element) || event.target.role !== "tab") return;
    const next = names[(names.indexOf(current) + step) % names.length]!;
    open(next);
    buttons[next].focus();
  });
  const status = element("p", { class: "status", role: "status" });
  const share = element("span", { class: "share" });
  const told = element("div", { class: "told" });
  const line = element("div", { class: "timeline" });
  const table = element("div", { class: "found" });
  panels.matches.append(status, told, line, table);
  parent.append(element("div", { role: "tablist" }, ...Object.values(buttons)), ...Object.values(panels));
  for (const name of Object.keys(TABS) as Tab[]) {
    buttons[name].setAttribute("aria-selected", String(name === current));
    buttons[name].tabIndex = name === current ? 0 : -1;
    panels[name].hidden = name !== current;
  }

  return {
    tab: () => current,
    open,
    working(text) {
      status.replaceChildren(text);
    },
    starting() {
      if (filled) return;
      status.replaceChildren("Running the query…");
      table.replaceChildren();
    },
    share(now) {
      share.textContent = now === null ? "" : ` · all events: ${Math.round(100 * now)}%`;
      if (now !== null && share.parentNode !== status) status.append(share);
    },
    moving() {
      line.classList.add("old");
    },
    matches(found) {
      parent.classList.remove("stale");
      filled = true;
      count.textContent = found.said.replace(/^about | \w+$/g, "");
      const events = found.events === 1 ? "1 event" : `${number(found.events)} events`;
      const some = found.on === "sample" ? `the first ${events}` : events;
      const took = found.seconds < 0.9995 ? `${Math.max(1, Math.round(found.seconds * 1000))} ms` : `${found.seconds.toFixed(1)} s`;
      status.replaceChildren(element("strong", {}, found.said), ` in ${some} · ${took}`, share);
      share.textContent = found.on === "sample" ? " · all events: 0%" : "";
      told.replaceChildren(...found.warnings.map(note));
      if (found.count === 0) {
        const why = button("Show why", () => open("why"), { class: "main" });
        const text = "Nothing matches. See how far the query gets, and what stops it.";
        line.replaceChildren();
        table.replaceChildren(element("div", { class: "empty" }, element("p", {}, text), why));
        return;
      }
      const all = found.said.replace(/ \w+$/, "");
      const shown = found.count !== found.rows.length ? `The first ${found.rows.length} of ${all}` : "";
      table.replaceChildren(matchTable(found, roles), element("p", { class: "hint" }, shown));
    },
    timeline(svg) {
      line.classList.remove("old");
      line.replaceChildren(...(svg === null ? [] : [picture(svg, "matches on a time line")]));
    },
    failed(problem) {
      parent.classList.add("stale");
      count.textContent = "";
      for (const tab of ["automaton", "why"] as const) panels[tab].classList.add("older");
      if (!filled) table.replaceChildren();
      const older = filled ? element("small", {}, " Below is what the last query without an error found.") : null;
      status.replaceChildren(element("span", { class: "error" }, problem.message), ...(older ? [older] : []));
    },
    empty(hint) {
      parent.classList.remove("stale");
      filled = false;
      count.textContent = "";
      panels.automaton.replaceChildren();
      panels.why.replaceChildren();
      status.replaceChildren();
      told.replaceChildren();
      line.replaceChildren();
      table.replaceChildren(hint);
    },
    explained(text, svgs) {
      const drawn = svgs.map((svg, at) =>
        picture(svg, `the ${at < svgs.length / 2 ? "automaton" : "plan"} of the query`), // of each query, then the other
      );
      panels.automaton.classList.remove("older");
      panels.automaton.replaceChildren(...drawn, element("pre", { tabindex: "0" }, text));
    },
    unclear(tab, problem) {
      panels[tab].classList.remove("older");
      panels[tab].replaceChildren(note(problem));
    },
    waiting(tab) {
      const text = tab === "why" ? "Following the runs of the query…" : "Drawing the automaton…";
      // What an older text gave stays, dimmed, so that the page does not flicker while one types.
      const shown = panels[tab].querySelector(".waiting");
      if (shown) return;
      panels[tab].classList.add("older");
      panels[tab].prepend(element("p", { class: "hint waiting", role: "status" }, text));
    },
    diagnosed(found) {
      panels.why.classList.remove("older");
      panels.why.replaceChildren(...whyView(found));
    },
    events(state) {
      const facts = state.events;
      if (facts === null) return;
      roles = {
        time: facts.columns.find((one) => one.role === "time")?.name ?? "ts",
        type: facts.columns.find((one) => one.role === "type")?.name ?? "type",
      };
      panels.events.replaceChildren(...eventsView(facts));
    },
  };
}

function note(problem: Problem): HTMLElement {
  return element("p", { class: `note ${problem.severity}` }, element("code", {}, problem.code), ` ${problem.message}; ${problem.remedy}`);
}

function sample(value: unknown, type: string): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return type.startsWith("timestamp") ? clock(text) : text;
}

function eventsView(facts: NonNullable<State["events"]>): HTMLElement[] {
  const rows = facts.columns.map((one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, one.name, one.role ? element("small", {}, ` ${one.role}`) : null),
      element("td", {}, one.type),
      element("td", {}, one.nulls ? number(one.nulls) : "–"),
      element("td", { class: "values" }, one.samples.slice(0, 5).map((value) => sample(value, one.type)).join(", ")),
    ),
  );
  const names = ["column", "type", "NULLs", "values"].map((name) => element("th", { scope: "col" }, name));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...names)), element("tbody", {}, ...rows));
  const types = (facts.types ?? []).map(([name, count]) =>
    element("li", {}, element("b", {}, name), ` ${number(count)}`),
  );
  return [
    ...(types.length ? [element("h2", {}, "Types of events"), element("ul", { class: "chips" }, ...types)] : []),
    element("h2", {}, "Columns"),
    element("div", { class: "scroll", tabindex: "0" }, table),
  ];
}
