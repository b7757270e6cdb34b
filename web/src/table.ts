// Matches as a table: an event is one cell, with its time and its values.

import type { Row, Rows } from "./api";
import { element, number } from "./dom";

const EVENTS = 3;

export interface Roles {
  time: string;
  type: string;
}

export function matchTable(found: Rows, roles: Roles): HTMLElement {
  const day = commonDay(found.rows);
  const head = element("tr", {}, ...found.columns.map((name) => element("th", { scope: "col" }, name)));
  const body = found.rows.map((row) =>
    element("tr", {}, ...found.columns.map((name) => element("td", {}, cell(row[name], roles, day)))),
  );
  const caption = day ? element("caption", {}, `all on ${day}`) : null;
  return element(
    "div",
    { class: "scroll", tabindex: "0" },
    element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...body)),
  );
}

function cell(value: unknown, roles: Roles, day: string): Node | string {
  if (Array.isArray(value) && value.every(isRow)) {
    const events = value.slice(0, EVENTS).map((one) => event(one, roles, day));
    const rest = value.length - events.length;
    const more = rest > 0 ? element("small", {}, `and ${number(rest)} more`) : null;
    return element("div", { class: "events" }, ...events, more);
  }
  if (isRow(value)) return event(value, roles, day);
  if (value === null || value === undefined) return element("small", {}, "NULL");
  return typeof value === "object" ? JSON.stringify(value) : clock(String(value), day);
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function event(row: Row, roles: Roles, day: string): HTMLElement {
  const others = Object.entries(row).filter(([name]) => name !== roles.time && name !== roles.type);
  const time = roles.time in row ? element("time", {}, clock(String(row[roles.time]), day)) : null;
  const values = others.map(([name, value]) =>
    element("span", { title: name }, value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value)),
  );
  return element("div", { class: "event", title: JSON.stringify(row, null, 1) }, time, ...values);
}

// The day that all matches begin and end on, if it is one: it is then said once.
function commonDay(rows: Row[]): string {
  const days = rows.flatMap((row) => [row["match_start"], row["match_end"]]).map((time) => String(time).slice(0, 10));
  const first = days[0] ?? "";
  return /^\d{4}-\d\d-\d\d$/.test(first) && days.every((day) => day === first) ? first : "";
}

// A time without what says nothing: zeros after the seconds, and the day that is said above.
export function clock(text: string, day = ""): string {
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(text)) return text;
  const short = text.replace("T", " ").replace(/(\.\d*?)0+(?=$|[+Z-])/, "$1").replace(/\.(?=$|[+Z-])/, "").replace(/(\+00:00|Z)$/, "");
  return day && short.startsWith(`${day} `) ? short.slice(day.length + 1) : short;
}
