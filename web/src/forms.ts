// The two forms of a query, text and Python: an editor for each, of which one is shown.

import type { ChangeDesc } from "@codemirror/state";
import { ask, type Form, type Problem } from "./api";
import { button, element } from "./dom";
import { type Editor, makeEditor } from "./editor";

const REST = 1500; // milliseconds for which "Copied" is shown

export interface Forms extends Editor {
  form(): Form;
  // Writes a text, in the form that is shown.
  begin(text: string): Promise<void>;
}

interface Listener {
  changed(changes: ChangeDesc, typed: boolean): void;
  switched(): void;
  // The query can't be shown in the other form, because it is wrong.
  refused(problem: Problem): void;
  // The server could not be asked.
  failed(error: unknown): void;
}

export function makeForms(parent: HTMLElement, text: string, form: Form, listener: Listener): Forms {
  let shown: Form = form;
  // The other form of a text that has not changed since is the one that was typed, with its comments and lines.
  let same: Record<Form, string> | null = null;
  const places: Record<Form, HTMLElement> = {
    text: element("div", { class: "editor" }),
    python: element("div", { class: "editor" }),
  };
  const buttons: Record<Form, HTMLButtonElement> = {
    text: button("Text", () => void show("text").catch(listener.failed)),
    python: button("Python", () => void show("python").catch(listener.failed)),
  };
  const copy = button("Copy", () => void copied());
  const choice = element("div", { class: "switch", role: "group", "aria-label": "form of the query" }, buttons.text, buttons.python);
  parent.append(element("div", { class: "tools" }, choice, copy), places.text, places.python);
  const editors: Record<Form, Editor> = {
    text: makeEditor(places.text, "text", form === "text" ? text : "", (changes, typed) => heard("text", changes, typed)),
    python: makeEditor(places.python, "python", form === "python" ? text : "", (changes, typed) => heard("python", changes, typed)),
  };
  mark();

  function heard(form: Form, changes: ChangeDesc, typed: boolean): void {
    if (form === shown) listener.changed(changes, typed);
  }

  function mark(): void {
    for (const form of ["text", "python"] as const) {
      buttons[form].setAttribute("aria-pressed", String(form === shown));
      places[form].hidden = form !== shown;
    }
  }

  async function copied(): Promise<void> {
    const done = navigator.clipboard.writeText(editors[shown].text());
    copy.textContent = await done.then(() => "Copied", () => "Not allowed");
    setTimeout(() => (copy.textContent = "Copy"), REST);
  }

  async function show(form: Form): Promise<void> {
    if (form === shown) return;
    const now = editors[shown].text();
    if (same?.[shown] !== now) {
      const other = await converted(now, shown, form);
      if (other === null || editors[shown].text() !== now) return;
      same = { [shown]: now, [form]: other } as Record<Form, string>;
      editors[form].set(other);
    }
    shown = form;
    mark();
    editors[form].focus();
    listener.switched();
  }

  async function converted(now: string, from: Form, to: Form): Promise<string | null> {
    if (!now.trim()) return "";
    const found = await ask<Record<string, string>>(to, { text: now, form: from });
    if ("problem" in found) {
      listener.refused(found.problem as Problem);
      return null;
    }
    return found[to] ?? "";
  }

  return {
    form: () => shown,
    text: () => editors[shown].text(),
    focus: () => editors[shown].focus(),
    replace: (from, to, insert) => editors[shown].replace(from, to, insert),
    set: (all) => editors[shown].set(all),
    mark: (problems) => editors[shown].mark(problems),
    show: (problem) => editors[shown].show(problem),
    async begin(all) {
      const other = shown === "text" ? all : await converted(all, "text", shown);
      if (other !== null) editors[shown].set(other);
    },
  };
}
