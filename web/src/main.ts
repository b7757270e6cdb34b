// The page: an editor at the left, what comes of the query at the right.

import "./style.css";
import { ask, type Constant, type Form, get, Gone, type Line, type Problem, type State, tell, toBrowser } from "./api";
import { button, element, number } from "./dom";
import { makeForms } from "./forms";
import { keep, kept } from "./kept";
import { makeResults, type Tab } from "./results";
import { makeSliders } from "./sliders";
import { watch } from "./watch";

const PAUSE = 250; // milliseconds without a key after which a text is run
const REST = 150; // milliseconds for which a slider is held still before its matches are drawn
const bar = document.getElementById("bar")!;
const lost = document.getElementById("lost")!;
const main = document.getElementById("main")!;

async function start(): Promise<void> {
  const state = await get<State>("state");
  document.title = `${state.name} – Cepheid Studio`;
  title(state);
  if (state.watches) watch(main);
  else edit(state);
}

function title(state: State): void {
  const count = state.events?.rows ?? 0;
  const rows = state.events ? ` · ${number(count)} ${count === 1 ? "event" : "events"}` : state.status === "reading" ? " · reading…" : "";
  document.getElementById("source")!.textContent = state.name + rows;
}

// share: from 0 to 1; null: under way, and nobody knows how far; "over": nothing is.
function progress(share: number | null | "over"): void {
  bar.className = share === null ? "busy" : share === "over" ? "over" : "";
  bar.style.setProperty("--share", String(typeof share === "number" ? share : 1));
  if (typeof share === "number") bar.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  else bar.removeAttribute("aria-valuenow");
}

function edit(first: State): void {
  const problems = element("div", { class: "problems", "aria-live": "polite" });
  const knobs = element("div", { class: "sliders" });
  knobs.hidden = true;
  const left = element("section", { class: "query", "aria-label": "query" });
  const right = element("section", { class: "results", "aria-label": "results" });
  main.replaceChildren(left, right);

  let state = first;
  let timer = 0;
  let running: AbortController | null = null;
  let looking: AbortController | null = null; // the automaton or the reasons are being worked out
  let busy = false; // a run for a slider is under way: the newest waits for it
  let waiting = false;
  let released = false; // the slider was let go of meanwhile
  let stale: Record<"automaton" | "why", boolean> = { automaton: true, why: true };

  const results = makeResults(right, (tab) => void refresh(tab));
  const sliders = makeSliders(
    knobs,
    (from, to, value) => {
      editor.replace(from, to, value);
      void drag();
    },
    () => {
      if (busy) released = true;
      else later(0, { sample: false });
    },
  );
  const before = kept(first);
  const editor = makeForms(left, before.text, before.form, {
    changed: (changes, typed) => {
      keep(first, { text: editor.text(), form: editor.form() });
      sliders.follow(changes);
      if (typed) later(PAUSE);
    },
    switched: () => {
      keep(first, { text: editor.text(), form: editor.form() });
      sliders.forget();
      later(0);
    },
    refused: (problem) => problems.replaceChildren(told(problem)),
    failed,
  });
  left.append(problems, knobs);

  // sample: whether the first events are tried first; their number would flicker where that of all is shown.
  function later(pause: number, how = { sample: true }): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => void update(how).catch(failed), pause);
  }

  function isNow(text: string, form: Form): boolean {
    return editor.text() === text && editor.form() === form;
  }

  // Checks a text, and runs it if nothing is wrong with it.
  async function update(how = { sample: true }): Promise<void> {
    const [now, form] = [editor.text(), editor.form()];
    forget();
    running?.abort();
    if (!now.trim()) {
      problems.replaceChildren();
      sliders.show([]);
      editor.mark([]);
      results.empty(beginning());
      progress("over");
      return;
    }
    const found = await ask<{ problems: Problem[] }>("check", { text: now, form });
    if (!isNow(now, form) || "problem" in found) return;
    editor.mark(found.problems);
    problems.replaceChildren(...found.problems.map((one) => told(one)));
    const error = found.problems.find((one) => one.severity === "error");
    if (error) {
      results.failed(error);
      sliders.show([]);
      progress("over");
      return;
    }
    void ask<{ constants: Constant[] }>("constants", { text: now, form }).then((answer) => {
      if ("problem" in answer || !isNow(now, form)) return;
      const all = answer.constants.map((one) => ({
        ...one,
        start: toBrowser(now, one.start),
        end: toBrowser(now, one.end),
      }));
      sliders.show(all);
    }, failed);
    await run(now, form, { ...how, timeline: true });
    if (isNow(now, form)) await refresh(results.tab());
  }

  // A slider moved: only the constant is another, so the text is neither checked nor compiled anew. The matches are
  // drawn when the slider rests: that takes as long as to find them.
  async function drag(): Promise<void> {
    clearTimeout(timer);
    if (busy) {
      waiting = true;
      return;
    }
    busy = true;
    forget();
    results.moving();
    do {
      waiting = false;
      await run(editor.text(), editor.form(), { sample: false, timeline: false });
    } while (waiting);
    busy = false;
    if (released) {
      released = false;
      return later(0, { sample: false });
    }
    clearTimeout(timer);
    timer = window.setTimeout(() => void run(editor.text(), editor.form(), { sample: false, timeline: true }), REST);
  }

  // What was found out about an older text is of no use any longer.
  function forget(): void {
    stale = { automaton: true, why: true };
    looking?.abort();
  }

  async function run(now: string, form: Form, how: { sample: boolean; timeline: boolean }): Promise<void> {
    if (how.timeline) running?.abort();
    const own = new AbortController();
    running = own;
    progress(null);
    results.starting();
    try {
      await tell("run", { text: now, form, ...how }, own.signal, hear);
    } catch (error) {
      if (!own.signal.aborted) failed(error);
    } finally {
      if (running === own) {
        progress("over");
        results.share(null);
      }
    }
  }

  function hear(line: Line): void {
    switch (line.kind) {
      case "reading":
        progress(line.share || null);
        return results.working(reading(line.share));
      case "progress": {
        if (line.on === "sample") return;
        const share = line.total ? line.events / line.total : null;
        progress(share);
        return results.share(share);
      }
      case "matches":
        return results.matches(line);
      case "timeline":
        return results.timeline(line.svg);
      case "explained":
        return results.explained(line.text, line.svgs);
      case "diagnosed":
        return results.diagnosed(line.diagnosis);
      case "error":
        return results.failed(line);
    }
  }

  // What is not looked at is not computed.
  async function refresh(tab: Tab): Promise<void> {
    const [now, form] = [editor.text(), editor.form()];
    if ((tab !== "automaton" && tab !== "why") || !stale[tab] || !now.trim()) return;
    stale[tab] = false;
    results.waiting(tab);
    const own = new AbortController();
    looking = own;
    try {
      await tell(tab === "why" ? "diagnose" : "explain", { text: now, form }, own.signal, (line) => {
        if (line.kind === "error") results.unclear(tab, line);
        else hear(line);
      });
    } catch (error) {
      if (!own.signal.aborted) failed(error);
    }
  }

  function told(problem: Problem): HTMLElement {
    const where = problem.line ? `line ${problem.line}, column ${problem.column}` : "";
    const made = element(
      "div",
      { class: `note ${problem.severity}` },
      element("p", {}, element("code", {}, problem.code), ` ${problem.message}`),
      element("p", { class: "remedy" }, problem.remedy),
    );
    if (where) made.prepend(button(where, () => editor.show(problem), { class: "where" }));
    return made;
  }

  function beginning(): HTMLElement {
    const types = state.events?.types?.slice(0, 2).map(([name]) => name) ?? [];
    const [one, other] = [types[0] ?? "A", types[1] ?? types[0] ?? "B"];
    const example = `PATTERN SEQ(${spelt(one)} a, ${spelt(other)} b)\nWITHIN 1 hour\n`;
    const begin = button("Start with this query", () => void editor.begin(example).then(() => later(0)), { class: "main" });
    const hint = "Write a query in the editor. Its matches are shown here while you type.";
    return element("div", { class: "empty" }, element("p", {}, hint), element("pre", {}, example), begin);
  }

  async function read(): Promise<void> {
    while (state.status === "reading") {
      results.working(reading(state.share));
      progress(state.share || null);
      await new Promise((after) => setTimeout(after, 200));
      state = await get<State>("state");
    }
    title(state);
    progress("over");
    results.events(state);
    if (state.problem) results.empty(element("div", { class: "empty" }, told(state.problem)));
    else await update();
  }
  read().catch(failed);
}

// What is on the page stays there, and can be copied.
function failed(error: unknown): void {
  const gone = error instanceof Gone;
  const title = gone ? "The server does not answer." : "The server failed.";
  const told = gone ? " Start cepheid studio again, and open the address that it prints." : ` ${String(error)}`;
  lost.replaceChildren(element("strong", {}, title), told);
  lost.hidden = false;
  progress("over");
}

function reading(share: number): string {
  return share ? `Reading the events: ${Math.round(100 * share)}%` : "Reading the events…";
}

// A name as it stands in a query.
function spelt(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

start().catch(failed);
