// Filter of Cayuga's benchmark with an automaton of its own for each query, which nothing is shared by: Figure 17, "No MQO".
//
// An event goes over the first step of every query and over every instance. There are two ways to know which steps it passes:
//   pubsub  as in the paper's naive system: an index of all edges says so, and each automaton looks its edges up in the result
//   each    no index at all: each automaton tests its conditions itself
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr int STEPS = 3, ATTRIBUTES = 4, DURATION = 20;

struct Step { int16_t value, other_value; uint8_t primary, other, columns[2], ranges[2]; };
static_assert(sizeof(Step) == 10, "");

struct Instance { int32_t query, step; int64_t start, events[STEPS - 1]; };
struct Match { int64_t query, events[STEPS]; };

struct State {
  int64_t queries;
  const Step* steps;  // the first steps of all queries, then the second ones, then the third ones
  const double *lows, *highs;
  std::unordered_map<uint64_t, std::pair<uint32_t, uint32_t>> buckets;  // of edges that ask for the same two values
  std::vector<uint32_t> edges;
  std::vector<uint32_t> passed;  // by edge: the last event that passed it, counted from 1
  std::vector<Instance> active, fresh;
  std::vector<Match> matches;
  int64_t made = 0;

  static uint64_t key(int a, int b, int first, int second) {
    return a < b ? uint64_t(a * ATTRIBUTES + b) << 32 | uint64_t(first) << 16 | uint64_t(second) : key(b, a, second, first);
  }

  void index() {
    std::unordered_map<uint64_t, std::vector<uint32_t>> found;
    for (int64_t edge = 0; edge < STEPS * queries; edge++) {
      const Step& step = steps[edge];
      found[key(step.primary, step.other, step.value, step.other_value)].push_back(uint32_t(edge));
    }
    for (const auto& [values, some] : found) {
      const uint32_t begin = uint32_t(edges.size());
      edges.insert(edges.end(), some.begin(), some.end());
      buckets[values] = {begin, uint32_t(edges.size())};
    }
  }

  void reset() {
    active.clear(); fresh.clear(); matches.clear();
    passed.assign(STEPS * queries, 0);
    made = 0;
  }
};

template <bool pubsub>
struct Loop {
  State& s;
  const int64_t* const* d;
  const double* const* c;
  int64_t i, values[ATTRIBUTES];
  double reals[ATTRIBUTES];

  bool ranges_hold(const Step& step) const {
    for (int k = 0; k < 2; k++) {
      const double real = reals[step.columns[k]];
      if (!(real >= s.lows[step.ranges[k]] && real < s.highs[step.ranges[k]])) return false;
    }
    return true;
  }

  bool holds(int64_t edge) const {
    if (pubsub) return s.passed[edge] == uint32_t(i + 1);
    const Step& step = s.steps[edge];
    return values[step.primary] == step.value && values[step.other] == step.other_value && ranges_hold(step);
  }

  void publish() {
    for (int a = 0; a < ATTRIBUTES; a++)
      for (int b = a + 1; b < ATTRIBUTES; b++) {
        const auto found = s.buckets.find(State::key(a, b, int(values[a]), int(values[b])));
        if (found == s.buckets.end()) continue;
        for (uint32_t k = found->second.first; k < found->second.second; k++)
          if (ranges_hold(s.steps[s.edges[k]])) s.passed[s.edges[k]] = uint32_t(i + 1);
      }
  }

  // Whether an instance waits on: its filter lets events of another primary value pass by.
  bool waits(const Instance& one, int64_t now) {
    if (now - one.start >= DURATION) return false;
    const int64_t edge = one.step * s.queries + one.query;
    if (values[s.steps[edge].primary] != s.steps[edge].value) return true;
    if (holds(edge)) {
      if (one.step == STEPS - 1) {
        s.matches.push_back(Match{one.query, {one.events[0], one.events[1], i}});
      } else {
        s.fresh.push_back(Instance{one.query, one.step + 1, one.start, {one.events[0], i}});
      }
    }
    return false;
  }

  void go(int64_t count, const int64_t* times) {
    for (i = 0; i < count; i++) {
      for (int k = 0; k < ATTRIBUTES; k++) values[k] = d[k][i], reals[k] = c[k][i];
      if (pubsub) publish();
      std::size_t kept = 0;
      for (const Instance& one : s.active)
        if (waits(one, times[i])) s.active[kept++] = one;
      s.active.resize(kept);
      for (int64_t query = 0; query < s.queries; query++)
        if (holds(query)) s.fresh.push_back(Instance{int32_t(query), 1, times[i], {i, 0}});
      s.made += int64_t(s.fresh.size());
      s.active.insert(s.active.end(), s.fresh.begin(), s.fresh.end());
      s.fresh.clear();
    }
  }
};

template <bool pubsub>
void push(void* state, int64_t count, const int64_t* times, const int64_t* const* d, const double* const* c) {
  Loop<pubsub> loop{*static_cast<State*>(state), d, c, 0, {}, {}};
  loop.go(count, times);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* naive_new(int64_t queries, const Step* steps, const double* lows, const double* highs) {
  auto* s = new State{queries, steps, lows, highs};
  s->index();
  s->reset();
  return s;
}
EXPORT void naive_free(void* s) { delete static_cast<State*>(s); }
EXPORT void naive_reset(void* s) { static_cast<State*>(s)->reset(); }
EXPORT int64_t naive_matches(void* s) { return int64_t(static_cast<State*>(s)->matches.size()); }
EXPORT int64_t naive_made(void* s) { return static_cast<State*>(s)->made; }
EXPORT void naive_enumerate(void* s, Match* rows) {
  for (const Match& match : static_cast<State*>(s)->matches) *rows++ = match;
}
EXPORT void naive_push_pubsub(void* s, int64_t count, const int64_t* times, const int64_t* const* d, const double* const* c) {
  push<true>(s, count, times, d, c);
}
EXPORT void naive_push_each(void* s, int64_t count, const int64_t* times, const int64_t* const* d, const double* const* c) {
  push<false>(s, count, times, d, c);
}
