// The editor of the query: colours, completion, and problems under their places.

import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
  pickedCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { Annotation, type ChangeDesc, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { ask, type Form, type Problem, toBrowser, toServer } from "./api";
import { sase } from "./language";
import { python } from "./python";

interface Completions {
  start: number;
  // insert: what is written, if not the label; back: in place of so many characters before it.
  options: { label: string; kind: string; detail: string; insert: string | null; back: number }[];
}

const byServer = Annotation.define<boolean>();

async function complete(form: Form, context: CompletionContext): Promise<CompletionResult | null> {
  const text = context.state.doc.toString();
  if (!context.explicit && !context.matchBefore(/[\p{L}\p{N}_.['"`(]$/u)) return null;
  const asked = ask<Completions>("complete", { text, form, at: toServer(text, context.pos) });
  const found = await asked.catch(() => null); // whoever runs the query says that the server is gone
  if (found === null || "problem" in found || context.aborted) return null;
  return {
    from: toBrowser(text, found.start),
    // Back quotes are typed before a name that needs them, and are none of its letters.
    filter: text[toBrowser(text, found.start)] !== "`",
    options: found.options.map(({ label, kind, detail, insert, back }, place) => ({
      label,
      type: kind,
      detail,
      boost: Math.max(-99, 50 - place), // the server has put them in order
      ...(insert === null ? {} : { apply: inserting(insert, back) }),
    })),
  };
}

function inserting(insert: string, back: number) {
  return (view: EditorView, completion: Completion, from: number, to: number): void => {
    const begin = from - back;
    view.dispatch({
      changes: { from: begin, to, insert },
      selection: { anchor: begin + insert.length },
      annotations: pickedCompletion.of(completion),
      userEvent: "input.complete",
    });
  };
}

const FORMS = {
  text: { language: sase, label: "query", hint: "PATTERN SEQ(…) WHERE … WITHIN …" },
  python: { language: python, label: "the query in Python", hint: "import cepheid as cep" },
};

export interface Editor {
  text(): string;
  focus(): void;
  replace(from: number, to: number, text: string): void;
  set(text: string): void;
  mark(problems: Problem[]): void;
  show(problem: Problem): void;
}

// changed: is told of what the user types, and of changes by `replace` and `set` with `typed` false.
export function makeEditor(
  parent: HTMLElement,
  form: Form,
  text: string,
  changed: (changes: ChangeDesc, typed: boolean) => void,
): Editor {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        highlightActiveLine(),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": FORMS[form].label, spellcheck: "false" }),
        placeholder(FORMS[form].hint),
        FORMS[form].language,
        syntaxHighlighting(classHighlighter),
        autocompletion({ override: [(context) => complete(form, context)], icons: false }),
        // Tab takes a completion; without one it leaves the editor, as it leaves any other field.
        keymap.of([{ key: "Tab", run: acceptCompletion }, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          const typed = !update.transactions.some((one) => one.annotation(byServer));
          changed(update.changes, typed);
        }),
      ],
    }),
  });
  const replace = (from: number, to: number, insert: string) =>
    view.dispatch({ changes: { from, to, insert }, annotations: byServer.of(true) });
  const place = (problem: Problem): [number, number] | null => {
    const all = view.state.doc.toString();
    if (problem.start === null || problem.start === undefined) return null;
    const from = Math.min(toBrowser(all, problem.start), all.length);
    const to = Math.min(Math.max(toBrowser(all, problem.end ?? problem.start), from), all.length);
    return to > from ? [from, to] : [Math.max(0, from - 1), Math.min(all.length, from + (from ? 0 : 1))];
  };
  return {
    text: () => view.state.doc.toString(),
    focus: () => view.focus(),
    replace,
    set: (all) => replace(0, view.state.doc.length, all),
    mark(problems) {
      const marks: Diagnostic[] = problems.flatMap((problem) => {
        const found = place(problem);
        if (found === null) return [];
        const message = `${problem.message}\n${problem.remedy}`;
        return [{ from: found[0], to: found[1], severity: problem.severity, source: problem.code, message }];
      });
      view.dispatch(setDiagnostics(view.state, marks));
    },
    show(problem) {
      const found = place(problem);
      if (found === null) return;
      view.dispatch({ selection: { anchor: found[0], head: found[1] }, scrollIntoView: true });
      view.focus();
    },
  };
}
