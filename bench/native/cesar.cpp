// CESAR expressions as automata, as a C++ programmer would write them by hand.
//
// Instances are in one vector for each state and key, and hold what later steps and the result read. An instant is
// atomic: an event alone in its time changes instances in place, several of one time are tried on all instances before
// anything that they make is there. Results are columns: their times, then their attributes.
#include "store.hpp"

#include <vector>

namespace {

union Value {  // of a result, of which the caller knows the type
    int64_t i;
    double d;
};

constexpr int MOST = 32;

struct Results {
    Column<Value> columns[MOST];

    void clear() {
        for (auto& column : columns) column.clear();
    }
    template <class... T>
    void add(T... values) {
        int k = 0;
        (put(k++, values), ...);
    }
    void put(int k, int64_t value) {
        columns[k].room(1);
        columns[k].at[columns[k].size++].i = value;
    }
    void put(int k, double value) {
        columns[k].room(1);
        columns[k].at[columns[k].size++].d = value;
    }
};

struct Tick {  // Query 5 without a key
    int64_t start;
    double price, change, last;
};

struct Quote {  // with one; the name is that of its vector
    int64_t start, price, volume, last;
};

struct Event {  // of the benchmark
    int64_t d[4];
    double c[4];
};

struct One {
    int64_t start;
    Event first;
};

struct Two {
    int64_t start;
    Event first, second;
};

struct Top {  // Double-Top: extrema so far
    int64_t start;
    double last, a, b, c, d;
};

struct State {
    std::vector<std::vector<Tick>> ticks;
    std::vector<std::vector<Quote>> quotes;
    std::vector<One> ones;
    std::vector<Two> twos;
    std::vector<std::vector<Top>> tops[5];
    Results found;
};

// An instant that meets the instances of a state. θ ends their wait, `forward` makes what comes after, `rebind` changes
// an instance to what its next step leaves, if there is one.
template <class I, class Theta, class Forward, class Rebind>
inline void meet(std::vector<I>& waiting, const int64_t* rows, int64_t count, Theta theta, Forward forward, Rebind rebind) {
    const size_t alive = waiting.size();
    size_t kept = 0;
    if (count == 1) {
        const int64_t row = rows[0];
        for (size_t k = 0; k < alive; k++) {
            I& one = waiting[k];
            if (theta(one, row)) {
                forward(one, row);
                if (!rebind(one, row)) continue;
            }
            if (kept != k) waiting[kept] = one;
            kept++;
        }
        waiting.resize(kept);
        return;
    }
    std::vector<I> made;
    for (size_t k = 0; k < alive; k++) {
        bool over = false;
        for (int64_t e = 0; e < count; e++) {
            if (!theta(waiting[k], rows[e])) continue;
            over = true;
            forward(waiting[k], rows[e]);
            I next = waiting[k];
            if (rebind(next, rows[e])) made.push_back(next);
        }
        if (!over) waiting[kept++] = waiting[k];
    }
    waiting.resize(kept);
    waiting.insert(waiting.end(), made.begin(), made.end());
}

// Calls with the rows of each instant, those of the type only. With keys: the rows of each key of it.
template <class Wanted, class Call>
inline void instants(int64_t n, const int64_t* ts, Wanted wanted, Call call) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < n;) {
        if (i + 1 == n || ts[i + 1] != ts[i]) {
            if (wanted(i)) call(&i, 1);
            i++;
            continue;
        }
        rows.clear();
        const int64_t now = ts[i];
        for (; i < n && ts[i] == now; i++)
            if (wanted(i)) rows.push_back(i);
        if (!rows.empty()) call(rows.data(), static_cast<int64_t>(rows.size()));
    }
}

template <class Call>
inline void by_key(const int64_t* rows, int64_t count, const int32_t* key, Call call) {
    if (count == 1) {
        call(key[rows[0]], rows, 1);
        return;
    }
    std::vector<int64_t> some;
    for (int64_t e = 0; e < count; e++) {
        bool first = true;
        for (int64_t f = 0; f < e; f++) first = first && key[rows[f]] != key[rows[e]];
        if (!first) continue;
        some.clear();
        for (int64_t f = e; f < count; f++)
            if (key[rows[f]] == key[rows[e]]) some.push_back(rows[f]);
        call(key[rows[e]], some.data(), static_cast<int64_t>(some.size()));
    }
}

}  // namespace

EXPORT State* cesar_new(int64_t keys) {
    State* s = new State;
    s->ticks.resize(keys);
    s->quotes.resize(keys);
    for (auto& tops : s->tops) tops.resize(keys);
    return s;
}
EXPORT void cesar_reset(State* s) {
    for (auto& waiting : s->ticks) waiting.clear();
    for (auto& waiting : s->quotes) waiting.clear();
    s->ones.clear();
    s->twos.clear();
    for (auto& tops : s->tops)
        for (auto& waiting : tops) waiting.clear();
    s->found.clear();
}
EXPORT void cesar_free(State* s) { delete s; }
EXPORT int64_t cesar_matches(const State* s) { return s->found.columns[0].size; }
EXPORT const void* cesar_column(const State* s, int32_t k) { return s->found.columns[k].at; }

// Query 5: rises without an end between, that last; θ is TRUE.
EXPORT void cesar_push_rise(State* s, int64_t n, int32_t, int32_t tick, int32_t least, const int32_t* type,
                            const int64_t* ts, const double* price, const double* change) {
    std::vector<Tick>& waiting = s->ticks[0];
    instants(
        n, ts, [&](int64_t i) { return type[i] == tick; },
        [&](const int64_t* rows, int64_t count) {
            meet(
                waiting, rows, count, [](const Tick&, int64_t) { return true; },
                [&](const Tick& one, int64_t i) {
                    if (price[i] > one.last && ts[i] - one.start + 1 >= least)
                        s->found.add(one.start, ts[i], one.price, one.change, price[i], change[i]);
                },
                [&](Tick& one, int64_t i) {
                    const bool rises = price[i] > one.last;
                    one.last = price[i];
                    return rises;
                });
            for (int64_t e = 0; e < count; e++) {
                const int64_t i = rows[e];
                waiting.push_back({ts[i], price[i], change[i], price[i]});
            }
        });
}

// The same of each name.
EXPORT void cesar_push_rises(State* s, int64_t n, int32_t, int32_t stock, int32_t least, const int32_t* type,
                             const int64_t* ts, const int32_t* key, const int64_t* name, const int64_t* price,
                             const int64_t* volume) {
    instants(
        n, ts, [&](int64_t i) { return type[i] == stock; },
        [&](const int64_t* all, int64_t many) {
            by_key(all, many, key, [&](int32_t lane, const int64_t* rows, int64_t count) {
                std::vector<Quote>& waiting = s->quotes[lane];
                meet(
                    waiting, rows, count, [](const Quote&, int64_t) { return true; },
                    [&](const Quote& one, int64_t i) {
                        if (price[i] > one.last && ts[i] - one.start + 1 >= least)
                            s->found.add(one.start, ts[i], name[i], one.price, one.volume, name[i], price[i], volume[i]);
                    },
                    [&](Quote& one, int64_t i) {
                        const bool rises = price[i] > one.last;
                        one.last = price[i];
                        return rises;
                    });
                for (int64_t e = 0; e < count; e++) {
                    const int64_t i = rows[e];
                    waiting.push_back({ts[i], price[i], volume[i], price[i]});
                }
            });
        });
}

namespace {

// The constants of the benchmark's query: d0 = 0 in each step, two ranges of selectivity 0.7 each.
constexpr int64_t PRIMARY = 0, LONGEST = 20;

inline bool within(double value, int range) {
    const double low = range * 0.012;
    return low <= value && value < low + 0.7;
}
inline bool theta1(const Event& e) { return within(e.c[0], 0) && within(e.c[1], 3); }
inline bool theta2(const Event& e) { return within(e.c[0], 1) && within(e.c[2], 0); }
inline bool theta3(const Event& e) { return within(e.c[1], 2) && within(e.c[3], 5); }

inline double sum(const Event& e) { return e.c[0] + e.c[1] + e.c[2] + e.c[3]; }

// All conditions ask for the primary predicate, so an event without it changes nothing; instances that have lasted too
// long go when an event comes that has it. NONDET: μ with ID in place of ";", and the sum of what three events have.
template <bool NONDET>
void benchmark(State* s, int64_t n, int32_t kind, const int32_t* type, const int64_t* ts, const int64_t* const* d,
               const double* const* c) {
    auto at = [&](int64_t i) {
        return Event{{d[0][i], d[1][i], d[2][i], d[3][i]}, {c[0][i], c[1][i], c[2][i], c[3][i]}};
    };
    auto emit = [&](const Two& two, int64_t end, const Event& e) {
        const Event &f = two.first, &g = two.second;
        s->found.add(two.start, end, f.d[0], f.d[1], f.d[2], f.d[3], f.c[0], f.c[1], f.c[2], f.c[3], g.d[0], g.d[1],
                     g.d[2], g.d[3], g.c[0], g.c[1], g.c[2], g.c[3], e.d[0], e.d[1], e.d[2], e.d[3], e.c[0], e.c[1],
                     e.c[2], e.c[3]);
        if (NONDET) s->found.put(26, sum(f) + sum(g) + sum(e));
    };
    auto expire = [&](auto& waiting, int64_t now) {
        size_t kept = 0;
        for (size_t k = 0; k < waiting.size(); k++) {
            if (now - waiting[k].start + 1 > LONGEST) continue;
            if (kept != k) waiting[kept] = waiting[k];
            kept++;
        }
        waiting.resize(kept);
    };
    instants(
        n, ts, [&](int64_t i) { return type[i] == kind && d[0][i] == PRIMARY; },
        [&](const int64_t* rows, int64_t count) {
            const int64_t now = ts[rows[0]];
            expire(s->twos, now);
            meet(
                s->twos, rows, count, [](const Two&, int64_t) { return true; },
                [&](const Two& two, int64_t i) {
                    const Event e = at(i);
                    if (theta3(e)) emit(two, now, e);
                },
                [](Two&, int64_t) { return NONDET; });
            expire(s->ones, now);
            meet(
                s->ones, rows, count, [](const One&, int64_t) { return true; },
                [&](const One& one, int64_t i) {
                    const Event e = at(i);
                    if (theta2(e)) s->twos.push_back({one.start, one.first, e});
                },
                [](One&, int64_t) { return NONDET; });
            for (int64_t k = 0; k < count; k++) {
                const Event e = at(rows[k]);
                if (theta1(e)) s->ones.push_back({now, e});
            }
        });
}

}  // namespace

#define BENCHMARK(NAME, NONDET)                                                                                      \
    EXPORT void cesar_push_##NAME(State* s, int64_t n, int32_t, int32_t kind, const int32_t* type, const int64_t* ts, \
                                  const int64_t* d0, const int64_t* d1, const int64_t* d2, const int64_t* d3,         \
                                  const double* c0, const double* c1, const double* c2, const double* c3) {           \
        const int64_t* const d[] = {d0, d1, d2, d3};                                                                  \
        const double* const c[] = {c0, c1, c2, c3};                                                                   \
        benchmark<NONDET>(s, n, kind, type, ts, d, c);                                                                \
    }
BENCHMARK(filter, false)
BENCHMARK(nondet, true)

// Double-Top: a fall to A, a rise to B ≥ 1.2 A, a fall to C near A, a rise to D near B, a fall to A or less.
EXPORT void cesar_push_tops(State* s, int64_t n, int32_t, int32_t stock, const int32_t* type, const int64_t* ts,
                            const int32_t* key, const int64_t* name, const double* price) {
    instants(
        n, ts, [&](int64_t i) { return type[i] == stock; },
        [&](const int64_t* all, int64_t many) {
            by_key(all, many, key, [&](int32_t lane, const int64_t* rows, int64_t count) {
                auto theta = [](const Top&, int64_t) { return true; };
                auto fall = [&](Top& one, int64_t i) {
                    const bool goes = price[i] < one.last;
                    one.last = price[i];
                    return goes;
                };
                auto rise = [&](Top& one, int64_t i) {
                    const bool goes = price[i] > one.last;
                    one.last = price[i];
                    return goes;
                };
                auto next = [&](int q, Top one, double Top::*extremum, double value) {
                    one.last = value;
                    one.*extremum = value;
                    s->tops[q][lane].push_back(one);
                };
                meet(
                    s->tops[4][lane], rows, count, theta,
                    [&](const Top& one, int64_t i) {
                        if (price[i] < one.last && price[i] <= one.a)
                            s->found.add(one.start, ts[i], name[i], one.a, one.b, one.c, one.d, price[i]);
                    },
                    fall);
                meet(
                    s->tops[3][lane], rows, count, theta,
                    [&](const Top& one, int64_t i) {
                        const double p = price[i];
                        if (p > one.last && 0.9 * one.b <= p && p <= 1.1 * one.b) next(4, one, &Top::d, p);
                    },
                    rise);
                meet(
                    s->tops[2][lane], rows, count, theta,
                    [&](const Top& one, int64_t i) {
                        const double p = price[i];
                        if (p < one.last && 0.9 * one.a <= p && p <= 1.1 * one.a) next(3, one, &Top::c, p);
                    },
                    fall);
                meet(
                    s->tops[1][lane], rows, count, theta,
                    [&](const Top& one, int64_t i) {
                        if (price[i] > one.last && price[i] >= 1.2 * one.a) next(2, one, &Top::b, price[i]);
                    },
                    rise);
                meet(
                    s->tops[0][lane], rows, count, theta,
                    [&](const Top& one, int64_t i) {
                        if (price[i] < one.last) next(1, one, &Top::a, price[i]);
                    },
                    fall);
                for (int64_t e = 0; e < count; e++) s->tops[0][lane].push_back({ts[rows[e]], price[rows[e]], 0, 0, 0, 0});
            });
        });
}
