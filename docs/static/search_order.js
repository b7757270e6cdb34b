/* Which results of a search come first. Sphinx gives nearly all pages that have a word the same score, and sorts those by
 * their titles. Here a heading that is what was asked for comes first, then pages that explain, and those about the
 * project last. */

const RAISED = new Set(["tutorial", "concepts", "language", "data", "sessions", "spark/batch", "spark/streams", "diagnose", "recipes", "errors"]);
const LOWERED = /^(changelog|contributing|engine|figures)/;

var Scorer = {
  score: ([page, , anchor, , score, , kind]) => {
    if (kind === "title" && anchor) return score + 20;
    if (LOWERED.test(page)) return score - 10;
    return score + (RAISED.has(page) ? 3 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
