// A slider for the window and for each number of a query.

import type { ChangeDesc } from "@codemirror/state";
import type { Constant } from "./api";
import { element } from "./dom";

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
  let dragging = false;

  function row(constant: Constant, at: number): HTMLElement {
    const value = element("span", {}, spelled(constant, constant.value));
    const input = element("input", {
      type: "range",
      min: String(constant.low),
      max: String(constant.high),
      step: String(constant.step),
      "aria-label": `${constant.label} ${constant.unit ?? ""}`.trim(),
    });
    input.value = String(constant.value);
    input.addEventListener("input", () => {
      dragging = true;
      const text = spelled(constant, Number(input.value));
      value.textContent = text;
      const now = shown[at];
      if (now === undefined) return;
      const start = now.start;
      moved(now.start, now.end, text);
      now.start = start;
      now.end = start + text.length;
    });
    input.addEventListener("change", () => {
      dragging = false;
      done();
    });
    return element(
      "label",
      { class: "slider" },
      element("span", { class: "name", title: constant.label }, constant.label),
      input,
      element("span", { class: "value" }, value, constant.unit ? ` ${constant.unit}` : ""),
    );
  }

  return {
    show(constants) {
      if (dragging) return;
      shown = constants.map((one) => ({ ...one }));
      parent.replaceChildren(...shown.map(row));
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

function spelled(constant: Constant, value: number): string {
  if (constant.whole) return String(Math.round(value));
  const digits = Math.max(1, Math.min(10, Math.ceil(-Math.log10(constant.step))));
  return value.toFixed(digits).replace(/(\.\d+?)0+$/, "$1");
}
