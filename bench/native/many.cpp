// The queries of Cayuga's benchmark in C++: the algorithm of `kernel/shared_loop.py` and its tables, written for its templates.
//
// It reads the same edges, nodes, conditions and hash table. Runs, lists and matches are its own: structs in vectors that grow,
// so that there is no pass that first looks whether there is room, and what a template does not need has no place in its code.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr uint64_t HASH = (1ull << 62) - 1;
constexpr uint64_t MIX = 0x1E3779B97F4A7C15ull, SPREAD = 0x2545F4914F6CDD1Dull, STIR = 0x1B873593CC9E2D51ull;
constexpr uint32_t NIL = 0xFFFFFFFFu;
constexpr int64_t NEVER = INT64_MAX, NOT = INT64_MIN;
constexpr int64_t ENDS_ALWAYS = 1 << 8, ENDS_NEVER = 1 << 9, LEAF = 1 << 11, EVERYTHING = 1 << 12, LOOKS = 1 << 13;
constexpr int64_t MORE = 1 << 24, ROUGH = 1 << 25;
constexpr int64_t RANGED = int64_t(1) << 62, NULL_KEY = INT64_MIN;
constexpr int64_t AT_LEAST = 1, AT_MOST = 2, INSIDE = 3, MARKED = 4, SIDE = 64, WORD = 63, DENSE = 24;

struct Edge { int64_t head; uint32_t low2, low1, high2, high1; };
struct Node { int64_t children, listens, kind; };
struct Kind { int64_t flags, lasts, ending, sets; };
struct Rule { int64_t column, low, high; };
struct Slot { int64_t owner, first, second, bucket; };
struct Set { int32_t count, columns[7]; };
static_assert(sizeof(Edge) == 24 && sizeof(Node) == 24 && sizeof(Kind) == 32 && sizeof(Rule) == 24 && sizeof(Slot) == 32 && sizeof(Set) == 32, "");

struct Run {
  uint32_t node, next;
  int64_t start, expires, ended;
  uint64_t below;
  int64_t flags;
  int64_t events[2];
  double price;
};
struct Match { int64_t node, start, events[3]; };
struct List { int64_t column, value; uint32_t head; };
struct Fresh { uint32_t run, place; };

struct State {
  const Edge* edges; const Node* nodes; const Kind* kinds; const int32_t* asks; const Rule* rules; const Slot* hashes; const Set* sets; const int64_t* ranges;
  uint64_t mask; int64_t root_sets; bool instants;
  std::vector<Run> runs;
  std::vector<List> lists;
  std::vector<Fresh> fresh;
  std::vector<Match> matches;
  uint32_t free = NIL;
  int64_t instant = NOT;
  uint64_t list_mask = (1 << 12) - 1, known = 0;

  void reset() {
    runs.clear(); fresh.clear(); matches.clear();
    free = NIL; instant = NOT; known = 0;
    lists.assign(list_mask + 1, List{-1, 0, NIL});
    lists[0].column = -2;
  }

  uint64_t place(int64_t column, int64_t value) {
    uint64_t found = ((uint64_t(column) * MIX) ^ (uint64_t(value) & HASH)) & HASH;
    found = ((found ^ (found >> 31)) * MIX) & HASH;
    uint64_t at = (found ^ (found >> 29)) & list_mask;
    while (lists[at].column != -1 && (lists[at].column != column || lists[at].value != value)) at = (at + 1) & list_mask;
    return at;
  }

  void grow() {
    std::vector<List> old(2 * lists.size(), List{-1, 0, NIL});
    old.swap(lists);
    list_mask = lists.size() - 1;
    lists[0] = old[0];
    for (std::size_t k = 1; k < old.size(); k++)
      if (old[k].column >= 0) lists[place(old[k].column, old[k].value)] = old[k];
    for (auto& one : fresh)
      if (one.place) one.place = uint32_t(place(old[one.place].column, old[one.place].value));
  }
};

uint64_t hash_of(uint64_t owner, uint64_t first, uint64_t second) {
  uint64_t found = (owner * MIX + first * SPREAD + second * STIR) & HASH;
  return (((found ^ (found >> 31)) * MIX) & HASH) >> 18;
}

// dyn: a step asks for a price above that of the step before. all: every event goes over all runs.
template <bool dyn, bool all>
struct Loop {
  State& s;
  const int64_t* keys;
  const uint32_t* quick;
  const double* c[4];
  int64_t i, now, width;
  bool alone;

  bool hold(int64_t begin, int64_t end, const Run* run) const {
    for (int64_t k = begin; k < end; k++) {
      const Rule& rule = s.rules[s.asks[k]];
      if (rule.column >= 0) {
        int64_t value = keys[i * width + rule.column];
        if (value < rule.low || value > rule.high) return false;
      } else if (dyn && !(c[0][i] > 1.01 * run->price)) {
        return false;
      }
    }
    return true;
  }

  static int64_t keyed(const Edge& edge) { return (edge.head >> 27) & 31; }

  void reach(uint32_t child, uint32_t from) {
    const Node& node = s.nodes[child];
    const Kind& kind = s.kinds[node.kind];
    const int64_t flags = kind.flags, depth = flags & 255;
    const int64_t start = from == NIL ? now : s.runs[from].start;
    if (flags & LEAF) {
      Match match{child, start, {0, 0, 0}};
      for (int64_t k = 0; k < depth; k++) match.events[k] = s.runs[from].events[k];
      match.events[depth] = i;
      s.matches.push_back(match);
      return;
    }
    uint32_t at = s.free;
    if (at == NIL) {
      at = uint32_t(s.runs.size());
      s.runs.emplace_back();
    } else {
      s.free = s.runs[at].next;
    }
    Run& run = s.runs[at];
    run.node = child;
    run.start = start;
    run.expires = kind.lasts > 0 ? start + kind.lasts : NEVER;
    run.ended = NOT;
    run.below = uint64_t(node.children);
    run.flags = flags;
    for (int64_t k = 0; k < depth; k++) run.events[k] = s.runs[from].events[k];
    run.events[depth] = i;
    if (dyn) run.price = c[0][i];
    uint64_t place = 0;
    if (!all && !(flags & EVERYTHING)) {
      const int64_t column = (flags >> 16) & 65535;
      place = s.place(column, node.listens);
      if (s.lists[place].column == -1) {
        s.lists[place] = List{column, node.listens, NIL};
        s.known++;
      }
    }
    s.fresh.push_back(Fresh{at, uint32_t(place)});
  }

  // The edges of some that the event passes; how many.
  int pass(uint32_t child, uint32_t last, bool known, uint32_t from) {
    int passed = 0;
    for (; child < last; child++) {
      const Edge& edge = s.edges[child];
      const uint32_t a = quick[i * width + (edge.head & 4095)], b = quick[i * width + ((edge.head >> 12) & 4095)];
      if (a < edge.low1 || a > edge.high1 || b < edge.low2 || b > edge.high2) continue;
      bool more = edge.head & MORE;
      if (edge.head & ROUGH) more = more || a == edge.low1 || a == edge.high1 || b == edge.low2 || b == edge.high2;
      if (more) {
        const int64_t at = (edge.head >> 32) + 1;
        if (!hold(at + (known ? keyed(edge) : 0), at + s.asks[at - 1], from == NIL ? nullptr : &s.runs[from])) continue;
      }
      passed++;
      reach(child, from);
    }
    return passed;
  }

  static int64_t reached(const int64_t* values, int64_t count, int64_t value) {
    int64_t low = 0, high = count;
    while (low < high) {
      const int64_t middle = (low + high) >> 1;
      if (values[middle] <= value) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Edges sorted by their lower bounds, with the greatest upper bound of each 64 and of each 64 * 64.
  int inside(const int64_t* lows, int64_t child, int64_t count, int64_t value, uint32_t from) {
    const int64_t last = reached(lows, count, value);
    const int64_t *sides = lows + count, *tops = sides + (count + SIDE - 1) / SIDE;
    int passed = 0;
    for (int64_t at = 0; at < last;) {
      const int64_t side = at / SIDE;
      if (side % SIDE == 0 && tops[side / SIDE] < value) {
        at += SIDE * SIDE;
        continue;
      }
      const int64_t end = at + SIDE < last ? at + SIDE : last;
      if (sides[side] >= value) passed += pass(uint32_t(child + at), uint32_t(child + end), true, from);
      at += SIDE;
    }
    return passed;
  }

  // Edges with bounds of up to three columns: of each, cells, and for each cell which edges it can pass.
  int cells(const int64_t* block, const int64_t* at, int64_t child, int64_t count, int64_t columns, uint32_t from) {
    const int64_t words = at[0], tops = at[1];
    const int64_t *marks[3], *sums[3];
    for (int64_t j = 0; j < 3; j++) {
      const int64_t* where = at + 2 + 5 * (j < columns ? j : 0);
      const int64_t value = keys[i * width + where[0]];
      if (value == NULL_KEY) return 0;
      const int64_t cell = reached(block + where[2], where[1] - 1, value);
      marks[j] = block + where[3] + cell * words;
      sums[j] = block + where[4] + cell * tops;
    }
    int passed = 0;
    for (int64_t top = 0; top < tops; top++)
      for (int64_t some = sums[0][top] & sums[1][top] & sums[2][top]; some; some &= some - 1) {
        const int64_t k = WORD * top + __builtin_ctzll(some), first = child + WORD * k, left = count - WORD * k;
        int64_t word = marks[0][k] & marks[1][k] & marks[2][k];
        if (__builtin_popcountll(word) >= DENSE) {
          passed += pass(uint32_t(first), uint32_t(first + (left < WORD ? left : WORD)), true, from);
        } else {
          for (; word; word &= word - 1) {
            const uint32_t one = uint32_t(first + __builtin_ctzll(word));
            passed += pass(one, one + 1, true, from);
          }
        }
      }
    return passed;
  }

  int range(const int64_t* block, uint32_t from) {
    int passed = 0;
    for (int64_t j = 0; j < block[0]; j++) {
      const int64_t* at = block + 2 + 4 * j;
      const int64_t kind = at[0] & 7, column = at[0] >> 3, child = at[1], *own = block + at[3];
      int64_t count = at[2];
      if (kind == MARKED) {
        passed += cells(block, own, child, count, column, from);
        continue;
      }
      const int64_t value = keys[i * width + column];
      if (kind && value == NULL_KEY) continue;
      if (kind == INSIDE) {
        passed += inside(own, child, count, value, from);
        continue;
      }
      if (kind == AT_LEAST) count = reached(own, count, value);
      if (kind == AT_MOST) count = reached(own, count, -value);
      passed += pass(uint32_t(child), uint32_t(child + count), true, from);
    }
    return passed;
  }

  int probe(uint64_t node, uint64_t bits, uint32_t from) {
    int passed = 0;
    const int64_t* key = keys + i * width;
    for (; bits; bits &= bits - 1) {
      const int number = __builtin_ctzll(bits);
      const Set& set = s.sets[number];
      const int64_t owner = int64_t(node | uint64_t(number) << 32);
      const int64_t first = set.count > 0 ? key[set.columns[0]] : 0;
      int64_t second = set.count > 1 ? key[set.columns[1]] : 0;
      for (int32_t j = 2; j < set.count; j++) second = int64_t((uint64_t(second) * SPREAD + uint64_t(key[set.columns[j]])) & HASH);
      for (uint64_t at = hash_of(owner, first, second) & s.mask; s.hashes[at].owner != -1; at = (at + 1) & s.mask) {
        const Slot& slot = s.hashes[at];
        if (slot.owner != owner || slot.first != first || slot.second != second) continue;
        const int64_t* block = slot.bucket >= RANGED ? s.ranges + (slot.bucket - RANGED) : nullptr;
        const uint32_t child = uint32_t(block ? block[3] : slot.bucket);
        if (set.count > 2) {
          const Edge& edge = s.edges[child];
          const int64_t where = (edge.head >> 32) + 1;
          if (!hold(where, where + keyed(edge), nullptr)) continue;
        }
        passed += block ? range(block, from) : pass(child, child + uint32_t(slot.bucket >> 32), true, from);
        break;
      }
    }
    return passed;
  }

  int64_t key(int64_t flags) const { return keys[i * width + ((flags >> 16) & 65535)]; }

  void listen(uint64_t place) {
    uint32_t run = s.lists[place].head, before = NIL;
    while (run != NIL) {
      const Run& at = s.runs[run];
      const uint32_t after = at.next;
      bool over = now >= at.expires || (at.ended != NOT && at.ended != now);
      if (!over && all && !(at.flags & EVERYTHING) && key(at.flags) != s.nodes[at.node].listens) {
        before = run;
        run = after;
        continue;
      }
      if (!over) {
        const int64_t flags = at.flags;
        const Kind* looks = flags & LOOKS ? &s.kinds[s.nodes[at.node].kind] : nullptr;
        int passed;
        if (looks && looks->sets)
          passed = probe(at.node, uint64_t(looks->sets), run);
        else
          passed = pass(uint32_t(at.below), uint32_t(at.below) + uint32_t(at.below >> 32), false, run);
        bool ends = (flags & ENDS_ALWAYS) || (!(flags & ENDS_NEVER) && passed);
        if (looks && looks->ending) {
          const int64_t begin = looks->ending + 1;
          ends = hold(begin, begin + s.asks[begin - 1], &s.runs[run]);
        }
        if (ends && !alone) s.runs[run].ended = now;  // other events of the instant may pass too
        over = ends && alone;
      }
      if (over) {
        (before == NIL ? s.lists[place].head : s.runs[before].next) = after;
        s.runs[run].next = s.free;
        s.free = run;
      } else {
        before = run;
      }
      run = after;
    }
  }

  void install() {
    for (const Fresh& one : s.fresh) {
      s.runs[one.run].next = s.lists[one.place].head;
      s.lists[one.place].head = one.run;
    }
    s.fresh.clear();
  }

  void go(int64_t count, const int64_t* times, const int64_t* columns, int64_t column_count) {
    for (i = 0; i < count; i++) {
      now = times[i];
      const bool another = !s.instants || now != s.instant;
      if (4 * s.known > s.list_mask) s.grow();  // an event has far fewer lists of its own than there is room for
      if (another) install();
      alone = another && (!s.instants || i + 1 == count || times[i + 1] != now);
      s.instant = now;
      listen(0);
      for (int64_t k = 0; k < column_count; k++) {
        const uint64_t place = s.place(columns[k], keys[i * width + columns[k]]);
        if (s.lists[place].column != -1) listen(place);
      }
      probe(0, uint64_t(s.root_sets), NIL);
    }
  }
};

template <bool dyn, bool all>
void push(void* state, int64_t count, int64_t width, const int64_t* times, const int64_t* keys, const uint32_t* quick,
          const double* const* c, const int64_t* columns, int64_t column_count) {
  Loop<dyn, all> loop{*static_cast<State*>(state), keys, quick, {c[0], c[1], c[2], c[3]}, 0, 0, width, false};
  loop.go(count, times, columns, all ? 0 : column_count);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* many_new(const Edge* edges, const Node* nodes, const Kind* kinds, const int32_t* asks, const Rule* rules, const Slot* hashes, const Set* sets,
                      const int64_t* ranges, int64_t mask, int64_t root_sets, int64_t instants) {
  auto* s = new State{edges, nodes, kinds, asks, rules, hashes, sets, ranges, uint64_t(mask), root_sets, instants != 0};
  s->reset();
  return s;
}
EXPORT void many_free(void* s) { delete static_cast<State*>(s); }
EXPORT void many_reset(void* s) { static_cast<State*>(s)->reset(); }
EXPORT int64_t many_matches(void* s) { return int64_t(static_cast<State*>(s)->matches.size()); }
EXPORT void many_enumerate(void* s, Match* rows) {
  for (const Match& match : static_cast<State*>(s)->matches) *rows++ = match;
}
#define PUSH(name, dyn, all)                                                                                                   \
  EXPORT void many_##name(void* s, int64_t count, int64_t width, const int64_t* times, const int64_t* keys, const uint32_t* quick, \
                          const double* const* c, const int64_t* columns, int64_t column_count) {                               \
    push<dyn, all>(s, count, width, times, keys, quick, c, columns, column_count);                                              \
  }
PUSH(push, false, false)
PUSH(push_dyn, true, false)
PUSH(push_all, false, true)
