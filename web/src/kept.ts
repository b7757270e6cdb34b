// The query of this window, kept by the browser until the window is closed: a reload does not lose it.

import type { Form, State } from "./api";

const KEY = "query";

export interface Query {
  text: string;
  form: Form;
}

interface Kept extends Query {
  begun: [string, string]; // the events and the query that the page was opened with
}

export function keep(state: State, query: Query): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...query, begun: [state.name, state.text] } satisfies Kept));
  } catch {
    // A browser that keeps nothing.
  }
}

export function kept(state: State): Query {
  const first: Query = { text: state.text, form: "text" };
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Kept | null;
    return found?.begun[0] === state.name && found.begun[1] === state.text ? found : first;
  } catch {
    return first;
  }
}
