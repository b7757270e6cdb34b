// Double-Top as Cayuga's report prints it in CQL (Fig. 19): views that push tuple after tuple to the next one.
//
// A window "Partition By name Rows n" is a queue for each name in a hash table, a relation a hash table by name and
// number. Joins look up what an equality names and try all that they find there, as an engine would that knows no more
// than the text. There are no queues between operators and nothing is scheduled, of which a stream system has both.
#include "store.hpp"

#include <deque>
#include <unordered_map>
#include <vector>

namespace {

struct Tuple {
    int64_t time, name;
    double price, pdiff;
};

struct Extremum {
    int64_t name, seq;
    double price, pdiff;
};

struct Partial {
    double a, b, c, d;
};

struct Key {
    int64_t name, seq;
    bool operator==(const Key& other) const { return name == other.name && seq == other.seq; }
};
struct Hash {
    size_t operator()(const Key& key) const { return std::hash<int64_t>()(key.name * 1000003 + key.seq); }
};

using Window = std::unordered_map<int64_t, std::deque<Tuple>>;
using Relation = std::unordered_map<Key, std::vector<Partial>, Hash>;

union Value {
    int64_t i;
    double d;
};

struct State {
    Window stock, diffs;
    std::unordered_map<int64_t, int64_t> counter;
    Relation states[4];
    Column<Value> found[6];
};

// Adds a tuple to a window; what it had before is still there if it is not the oldest of too many.
std::deque<Tuple>& slide(Window& window, const Tuple& tuple, size_t rows) {
    std::deque<Tuple>& own = window[tuple.name];
    own.push_back(tuple);
    if (own.size() > rows) own.pop_front();
    return own;
}

template <class Asks, class Then>
void join(Relation& before, const Extremum& e, Asks asks, Then then) {
    auto found = before.find({e.name, e.seq - 1});
    if (found == before.end()) return;
    for (const Partial& one : found->second)
        if (asks(one)) then(one);
}

void states(State* s, const Tuple& tuple) {
    const Extremum e{tuple.name, ++s->counter[tuple.name], tuple.price, tuple.pdiff};
    auto into = [&](int q, const Partial& one) { s->states[q][{e.name, e.seq}].push_back(one); };
    if (e.pdiff < 0.0) into(0, {e.price, 0, 0, 0});
    join(
        s->states[0], e, [&](const Partial& p) { return e.price > p.a * 1.2; },
        [&](const Partial& p) { into(1, {p.a, e.price, 0, 0}); });
    join(
        s->states[1], e, [&](const Partial& p) { return e.price > p.a * 0.9 && e.price < p.a * 1.1; },
        [&](const Partial& p) { into(2, {p.a, p.b, e.price, 0}); });
    join(
        s->states[2], e, [&](const Partial& p) { return e.price > p.b * 0.9 && e.price < p.b * 1.1; },
        [&](const Partial& p) { into(3, {p.a, p.b, p.c, e.price}); });
    join(
        s->states[3], e, [&](const Partial& p) { return e.price < p.a; },
        [&](const Partial& p) {
            const double values[] = {p.a, p.b, p.c, p.d, e.price};
            for (auto& column : s->found) column.room(1);
            s->found[0].at[s->found[0].size++].i = e.name;
            for (int k = 0; k < 5; k++) s->found[k + 1].at[s->found[k + 1].size++].d = values[k];
        });
}

// The extrema that a join of a window of three with itself, twice, has more or less with a tuple than without it.
template <class Then>
void deltas(const std::deque<Tuple>& own, const Tuple& changed, Then then) {
    for (const Tuple& s1 : own)
        for (const Tuple& s2 : own)
            for (const Tuple& s3 : own) {
                if (s1.time != changed.time && s2.time != changed.time && s3.time != changed.time) continue;
                if ((s2.price - s1.price) * (s3.price - s2.price) < 0.0 && s1.time < s2.time && s2.time < s3.time)
                    then(Tuple{s2.time, s2.name, s2.price, s2.price - s1.price});
            }
}

}  // namespace

EXPORT State* cql_new(int64_t) { return new State; }
EXPORT void cql_reset(State* s) {
    s->stock.clear();
    s->diffs.clear();
    s->counter.clear();
    for (auto& state : s->states) state.clear();
    for (auto& column : s->found) column.clear();
}
EXPORT void cql_free(State* s) { delete s; }
EXPORT int64_t cql_matches(const State* s) { return s->found[0].size; }
EXPORT const void* cql_column(const State* s, int32_t k) { return s->found[k].at; }

EXPORT void cql_push_cql1(State* s, int64_t n, int32_t, const int64_t* ts, const int64_t* name, const double* price) {
    for (int64_t i = 0; i < n; i++) {
        const Tuple now{ts[i], name[i], price[i], 0};
        for (const Tuple& p : slide(s->stock, now, 2)) {
            if (!(now.time > p.time)) continue;
            const Tuple diff{now.time, now.name, now.price, now.price - p.price};
            for (const Tuple& q : slide(s->diffs, diff, 2))
                if (diff.pdiff * q.pdiff < 0.0) states(s, q);
        }
    }
}

EXPORT void cql_push_cql2(State* s, int64_t n, int32_t, const int64_t* ts, const int64_t* name, const double* price) {
    for (int64_t i = 0; i < n; i++) {
        const Tuple now{ts[i], name[i], price[i], 0};
        std::deque<Tuple>& own = s->stock[now.name];
        if (own.size() == 3) {
            int64_t less = 0;
            deltas(own, Tuple(own.front()), [&](const Tuple&) { less++; });  // Istream leaves them out
            own.pop_front();
        }
        own.push_back(now);
        deltas(own, now, [&](const Tuple& found) { states(s, found); });
    }
}
