// A slider for the window and for each number of a query.

import type { ChangeDesc } from "@codemirror/state";
import type { Constant } from "./api";
import { element } from "./dom";

interface Row {
  frame: HTMLElement;
  input: HTMLInputElement;
  value: HTMLElement;
}

export interface Sliders {
  show(constants: Constant[]): void;
  // The editor has another text now: the sliders stay until its numbers are known, and move nothing.
  forget(): void;
  // Moves the places of the numbers along with a change of the text.
  follow(changes: ChangeDesc): void;
}

// moved: a slider asks to write a number into the text; done: it was let go of.
export function makeSliders(
  parent: HTMLElement,
  moved: (from: number, to: number, text: string) => void,
  done: () => void,
): Sliders {
  let shown: Constant[] = [];
  let known: Constant[] = []; // what the rows show
  let rows: Row[] = [];
  let dragging = false;

  function makeRow(constant: Constant, at: number): Row {
    const value = element("span", { class: "value" });
    const input = element("input", {
      type: "range",
      "aria-label": `${constant.label} ${constant.unit ?? ""}`.trim(),
    });
    input.addEventListener("input", () => {
      dragging = true;
      const now = shown[at];
      if (now === undefined) return;
      const text = spelled(now, Number(input.value));
      say(row, withUnit(text, now.unit));
      const start = now.start;
      moved(now.start, now.end, text);
      now.start = start;
      now.end = start + text.length;
    });
    input.addEventListener("change", () => {
      dragging = false;
      done();
    });
    const name = element("span", { class: "name", title: constant.label }, constant.label);
    const row = { frame: element("label", { class: "slider" }, name, input, value), input, value };
    return row;
  }

  function say({ input, value }: Row, text: string): void {
    value.textContent = text;
    input.setAttribute("aria-valuetext", text);
  }

  function fill(row: Row, constant: Constant): void {
    const { input } = row;
    input.min = String(constant.low);
    input.max = String(constant.high);
    input.step = String(constant.step);
    input.value = String(constant.value);
    say(row, withUnit(spelled(constant, constant.value), constant.unit));
  }

  return {
    show(constants) {
      if (dragging) return;
      const same = constants.length === rows.length && constants.every((one, at) => isSame(one, known[at]));
      shown = constants.map((one, at) => (same ? withRange(one, known[at]!) : { ...one }));
      known = shown.map((one) => ({ ...one }));
      if (!same) {
        rows = shown.map(makeRow);
        parent.replaceChildren(...rows.map((row) => row.frame));
      }
      shown.forEach((one, at) => fill(rows[at]!, one)); // in place: the slider that has the focus keeps it
      parent.hidden = shown.length === 0;
    },
    forget() {
      shown = [];
    },
    follow(changes) {
      for (const one of shown) {
        one.start = changes.mapPos(one.start, -1);
        one.end = changes.mapPos(one.end, 1);
      }
    },
  };
}

function isSame(one: Constant, other: Constant | undefined): boolean {
  return other !== undefined && one.label === other.label && one.unit === other.unit;
}

// A number within the range that its slider has: the range stays, so that the slider does not jump.
function withRange(one: Constant, before: Constant): Constant {
  const within = before.low < one.value && one.value < before.high;
  if (!within || (one.unit === null && one.whole !== before.whole)) return { ...one };
  return { ...one, low: before.low, high: before.high, step: before.step, whole: before.whole };
}

function withUnit(text: string, unit: string | null): string {
  return unit === null ? text : `${text} ${text === "1" ? unit.replace(/s$/, "") : unit}`;
}

function spelled(constant: Constant, value: number): string {
  if (constant.whole) return String(Math.round(value));
  const digits = Math.max(1, Math.min(10, Math.ceil(-Math.log10(constant.step))));
  const text = value.toFixed(digits).replace(/(\.\d+?)0+$/, "$1");
  return constant.unit === null ? text : text.replace(/\.0$/, ""); // 2.0 is no 2, but two hours are two hours
}
