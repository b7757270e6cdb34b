// Small helpers to make elements. Text is always set as text: what events hold is never read as HTML.

type Child = Node | string | null | undefined;

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}

export function button(label: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

// A picture that the server drew; the policy of the page lets no script in it run.
export function picture(svg: string, label: string): HTMLElement {
  const read = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const frame = element("div", { class: "picture", role: "img", "aria-label": label, tabindex: "0" });
  const drawn = frame.appendChild(document.importNode(read, true));
  // Much smaller its text can't be read, so it scrolls; larger than it was drawn it need not be.
  drawn.style.minWidth = `min(34rem, ${read.getAttribute("width") ?? "34rem"})`;
  return frame;
}

export function number(value: number): string {
  return value.toLocaleString("en");
}
