// How a query is coloured: by words, not by its grammar, which only the server knows.

import { StreamLanguage } from "@codemirror/language";

const words = new Set(
  (
    "all and any as between by case cast cooldown distinct else end event extract filter for from having in into is " +
    "like longest non_overlap not null or output partition pattern regexp return rlike seq simultaneous " +
    "skip_till_next_match skip_till_any_match strict_contiguity partition_contiguity then ties timestamp true false " +
    "when where within"
  ).split(" "),
);
// Words of automata and of CESAR, which are names elsewhere: coloured only in capitals.
const capitals = new Set(
  "ADD ARC AT AUTOMATON CESAR DUR EPSILON IGNORE ITERATE LET ON PROJECT REGISTER RENAME SELECT SET UNION".split(" "),
);
const units = /^(nano|micro|milli)?seconds?$|^(ms|us|ns|s|secs?|mins?|minutes?|hours?|hrs?|h|days?|weeks?|events?)$/i;

export const sase = StreamLanguage.define<{ comment: boolean; dot: boolean; number: boolean }>({
  name: "sase",
  startState: () => ({ comment: false, dot: false, number: false }),
  token(stream, state) {
    if (state.comment) {
      state.comment = !stream.skipTo("*/") || !stream.match("*/");
      if (state.comment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    const afterDot = state.dot;
    const afterNumber = state.number;
    state.dot = state.number = false;
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    if (stream.match(/^--.*/)) return "comment";
    if (stream.match(/^'(?:[^']|'')*'?/) || stream.match(/^"(?:[^"]|"")*"?/)) return "string";
    if (stream.match(/^`(?:[^`]|``)*`?/)) return "variableName";
    if (stream.match(/^\d+(\.\d+)?([eE][+-]?\d+)?/)) {
      state.number = true;
      return "number";
    }
    if (stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) {
      const word = stream.current();
      if (afterDot) return "propertyName";
      if (afterNumber && units.test(word)) return "number";
      if (words.has(word.toLowerCase()) || capitals.has(word)) return "keyword";
      if (/^\s*\(/.test(stream.string.slice(stream.pos))) return "variableName.function";
      return /^\p{Lu}/u.test(word) ? "typeName" : "variableName";
    }
    state.dot = stream.next() === ".";
    return state.dot ? null : "operator";
  },
  languageData: { commentTokens: { line: "--", block: { open: "/*", close: "*/" } } },
});
