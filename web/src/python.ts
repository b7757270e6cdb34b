// How the Python form is coloured: by words, as little of Python as a query needs.

import { StreamLanguage } from "@codemirror/language";

const words = new Set("import from as None True False and or not in is lambda for if else def return".split(" "));

export const python = StreamLanguage.define<{ quote: string; dot: boolean }>({
  name: "python",
  startState: () => ({ quote: "", dot: false }),
  token(stream, state) {
    if (state.quote) {
      if (stream.skipTo(state.quote)) {
        stream.match(state.quote);
        state.quote = "";
      } else stream.skipToEnd();
      return "string";
    }
    if (stream.eatSpace()) return null;
    const afterDot = state.dot;
    state.dot = false;
    if (stream.match(/^#.*/)) return "comment";
    const triple = stream.match(/^("""|''')/);
    if (triple) {
      state.quote = (triple as RegExpMatchArray)[0];
      return "string";
    }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return "string";
    if (stream.match(/^\d[\d_]*(\.\d+)?([eE][+-]?\d+)?/)) return "number";
    if (stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) {
      const word = stream.current();
      if (!afterDot && words.has(word)) return "keyword";
      if (/^\s*\(/.test(stream.string.slice(stream.pos))) return "typeName";
      return afterDot ? "propertyName" : "variableName";
    }
    state.dot = stream.next() === ".";
    return state.dot ? null : "operator";
  },
  languageData: { commentTokens: { line: "#" } },
});
