// The page: an editor at the left, what comes of the query at the right.

import "./style.css";
import { ask, type Constant, get, type Line, type Problem, type State, tell, toBrowser } from "./api";
import { button, element, number } from "./dom";
import { type Editor, makeEditor } from "./editor";
import { makeResults, type Tab } from "./results";
import { makeSliders } from "./sliders";
import { watch } from "./watch";

const PAUSE = 250; // milliseconds without a key after which a text is run
const bar = document.getElementById("bar")!;
const main = document.getElementById("main")!;

async function start(): Promise<void> {
  const state = await get<State>("state");
  document.title = `${state.name} – Cepheid Studio`;
  title(state);
  if (state.watches) watch(main);
  else edit(state);
}

function title(state: State): void {
  const rows = state.events ? ` · ${number(state.events.rows)} events` : state.status === "reading" ? " · reading…" : "";
  document.getElementById("source")!.textContent = state.name + rows;
}

function progress(share: number | null): void {
  bar.className = share === null ? "busy" : "";
  bar.style.setProperty("--share", share === null ? "1" : String(share));
}

function edit(first: State): void {
  const place = element("div", { class: "editor" });
  const python = element("pre", { class: "python", tabindex: "0", "aria-label": "the query in Python" });
  python.hidden = true;
  const problems = element("div", { class: "problems", "aria-live": "polite" });
  const knobs = element("div", { class: "sliders" });
  knobs.hidden = true;
  const right = element("section", { class: "results", "aria-label": "results" });
  const text = button("Text", () => showForm("text"), { "aria-pressed": "true" });
  const code = button("Python", () => showForm("python"), { "aria-pressed": "false" });
  const copy = button("Copy", () => void navigator.clipboard.writeText(python.hidden ? editor.text() : python.textContent ?? ""));
  const tools = element("div", { class: "tools" }, element("div", { class: "switch" }, text, code), copy);
  main.replaceChildren(
    element("section", { class: "query", "aria-label": "query" }, tools, place, python, problems, knobs),
    right,
  );

  let state = first;
  let timer = 0;
  let running: AbortController | null = null;
  let busy = false; // a run for a slider is under way: the newest waits for it
  let waiting = false;
  let stale: Record<"automaton" | "why", boolean> = { automaton: true, why: true };

  const results = makeResults(right, (tab) => void refresh(tab));
  const sliders = makeSliders(
    knobs,
    (from, to, value) => {
      editor.replace(from, to, value);
      void drag();
    },
    () => later(0),
  );
  const editor: Editor = makeEditor(place, first.text, (changes, typed) => {
    sliders.follow(changes);
    if (typed) later(PAUSE);
  });

  function later(pause: number): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => void update(), pause);
  }

  // Checks a text, and runs it if nothing is wrong with it.
  async function update(): Promise<void> {
    const now = editor.text();
    stale = { automaton: true, why: true };
    running?.abort();
    if (!now.trim()) {
      problems.replaceChildren();
      sliders.show([]);
      editor.mark([]);
      results.empty(beginning());
      progress(0);
      return;
    }
    const found = await ask<{ problems: Problem[] }>("check", { text: now });
    if (editor.text() !== now || "problem" in found) return;
    editor.mark(found.problems);
    problems.replaceChildren(...found.problems.map((one) => told(one)));
    const error = found.problems.find((one) => one.severity === "error");
    if (error) {
      results.failed(error);
      sliders.show([]);
      progress(0);
      return;
    }
    void ask<{ constants: Constant[] }>("constants", { text: now }).then((answer) => {
      if ("problem" in answer || editor.text() !== now) return;
      const all = answer.constants.map((one) => ({
        ...one,
        start: toBrowser(now, one.start),
        end: toBrowser(now, one.end),
      }));
      sliders.show(all);
    });
    if (!python.hidden) void showPython();
    await run(now, true);
    await refresh(results.tab());
  }

  // A slider moved: only the constant is another, so the text is neither checked nor compiled anew.
  async function drag(): Promise<void> {
    if (busy) {
      waiting = true;
      return;
    }
    busy = true;
    stale = { automaton: true, why: true };
    do {
      waiting = false;
      await run(editor.text(), false);
    } while (waiting);
    busy = false;
    if (!python.hidden) void showPython();
  }

  async function run(now: string, sample: boolean): Promise<void> {
    if (sample) running?.abort();
    const own = new AbortController();
    running = own;
    progress(null);
    try {
      await tell("run", { text: now, sample }, own.signal, hear);
    } catch (error) {
      if (!own.signal.aborted) results.working(`The server does not answer: ${String(error)}`);
    } finally {
      if (running === own) progress(0);
    }
  }

  function hear(line: Line): void {
    switch (line.kind) {
      case "reading":
        return results.working("Reading the events…");
      case "progress":
        return progress(line.total ? line.events / line.total : null);
      case "matches":
        return results.matches(line);
      case "timeline":
        return results.timeline(line.svg);
      case "explained":
        return results.explained(line.text, line.svg);
      case "diagnosed":
        return results.diagnosed(line.diagnosis);
      case "error":
        return results.failed(line);
    }
  }

  // What is not looked at is not computed.
  async function refresh(tab: Tab): Promise<void> {
    const now = editor.text();
    if ((tab !== "automaton" && tab !== "why") || !stale[tab] || !now.trim()) return;
    stale[tab] = false;
    if (results.isEmpty(tab)) results.waiting(tab);
    await tell(tab === "why" ? "diagnose" : "explain", { text: now }, new AbortController().signal, hear);
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
    const example = `PATTERN SEQ(${one} a, ${other} b)\nWITHIN 1 hour\n`;
    const begin = button("Begin with this", () => (editor.set(example), later(0)), { class: "main" });
    const hint = "Write a query at the left: what it matches is shown here as you type.";
    return element("div", { class: "empty" }, element("p", {}, hint), element("pre", {}, example), begin);
  }

  async function showPython(): Promise<void> {
    const found = await ask<{ python: string }>("python", { text: editor.text() });
    python.textContent = "problem" in found ? `# ${found.problem.message}` : found.python;
  }

  function showForm(form: "text" | "python"): void {
    text.setAttribute("aria-pressed", String(form === "text"));
    code.setAttribute("aria-pressed", String(form === "python"));
    place.hidden = form === "python";
    python.hidden = form === "text";
    if (form === "python") void showPython();
  }

  async function read(): Promise<void> {
    while (state.status === "reading") {
      results.working("Reading the events…");
      progress(null);
      await new Promise((after) => setTimeout(after, 300));
      state = await get<State>("state");
    }
    title(state);
    progress(0);
    results.events(state);
    if (state.problem) results.empty(element("div", { class: "empty" }, told(state.problem)));
    else await update();
  }
  void read();
}

start().catch((error: unknown) => {
  main.replaceChildren(element("p", { class: "empty" }, `The server does not answer: ${String(error)}`));
});
