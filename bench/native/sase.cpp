// The two algorithms that SASE+ compares in Experiments 3 and 4, on its stock template.
//
// basic (5.2.1): all runs at once, event by event. backtrack (5.2.3, after SQL-TS): one run at a time; where it may both go on
// and stay, the run that stays is postponed on a stack, and is resumed from the buffered events when the first has ended.
// `star` is the template of Experiment 4 with a third component, SEQ(Stock+ a[], Stock b, Stock c).
#include "stock.hpp"

#include <vector>

namespace {

enum Strategy { CONTIGUOUS, SKIP };
enum Output { ALL, NON_OVERLAP };
enum Shape { PLAIN, STAR };

struct Event {
    int64_t price;
    int32_t position;
    bool b;
};

struct Run {
    int64_t start, value;
    int64_t first, last;  // the prices of a[1] and a[a.LEN]
    int32_t tip, length;
    bool at_c;  // b is bound, c is waited for
};

struct State {
    int64_t window;
    std::vector<std::vector<Event>> partitions;
    Buffer buffer;
    int64_t steps = 0;  // how often a run met an event
};

// What one event does to a run: at most one match, and the runs that go on. The caller has made room in the buffer.
template <class P, Strategy strategy, Shape shape>
struct Step {
    bool matched, stays, proceeds;
    Run stayed, proceeded;

    Step(State& s, const Run& run, const Event& e) : matched(false), stays(false), proceeds(false), stayed(run) {
        s.steps++;
        if (shape == STAR && run.at_c) {
            matched = e.price > run.first && e.price < run.last;
            stays = !matched && strategy == SKIP;
            return;
        }
        if (e.b) {
            if (shape == PLAIN) {
                matched = true;
            } else {
                proceeds = true;
                proceeded = run;
                proceeded.tip = s.buffer.take(e.position, run.tip);
                proceeded.length++;
                proceeded.at_c = true;
            }
        }
        if (P::take(e.price, run.value)) {
            stays = true;
            stayed.value = P::next(e.price, run.value);
            stayed.last = e.price;
            stayed.tip = s.buffer.take(e.position, run.tip);
            stayed.length++;
        } else {
            stays = strategy == SKIP;
        }
    }
};

Run begin(State& s, const Event& e, int64_t at) {
    s.buffer.room(1);
    return {at, e.price, e.price, e.price, s.buffer.take(e.position, -1), 1, false};
}

template <class P, Strategy strategy, Output output, Shape shape>
void basic(State& s) {
    for (const std::vector<Event>& events : s.partitions) {
        std::vector<Run> runs, next;
        for (int64_t at = 0; at < static_cast<int64_t>(events.size()); at++) {
            const Event& e = events[at];
            s.buffer.room(2 * static_cast<int64_t>(runs.size()));
            next.clear();
            bool pruned = false;
            for (const Run& run : runs) {
                if (at - run.start >= s.window) continue;
                const Step<P, strategy, shape> step(s, run, e);
                if (step.matched) {
                    s.buffer.emit(run.tip, run.length, e.position);
                    if (output == NON_OVERLAP) {  // runs are in the order of their starts
                        pruned = true;
                        break;
                    }
                }
                if (step.proceeds) next.push_back(step.proceeded);
                if (step.stays) next.push_back(step.stayed);
            }
            if (pruned) next.clear();
            if (!pruned && begins(e.price)) next.push_back(begin(s, e, at));
            runs.swap(next);
        }
    }
}

struct Postponed {
    Run run;
    int64_t at;  // the next event that it reads
};

// The matches of one start, deepest first; for NON_OVERLAP only the first that ends before `bound`, which it moves.
template <class P, Strategy strategy, Output output, Shape shape>
void explore(State& s, const std::vector<Event>& events, int64_t start, int64_t& bound, Buffer::Found& best) {
    std::vector<Postponed> stack{{begin(s, events[start], start), start + 1}};
    while (!stack.empty()) {
        Postponed singleton = stack.back();
        stack.pop_back();
        for (;;) {
            const int64_t at = singleton.at++;
            const int64_t end = output == NON_OVERLAP ? bound : static_cast<int64_t>(events.size());
            if (at >= end || at - start >= s.window) break;
            s.buffer.room(2);
            const Step<P, strategy, shape> step(s, singleton.run, events[at]);
            if (step.matched) {
                if (output == NON_OVERLAP) {
                    bound = at;
                    best = {singleton.run.tip, singleton.run.length, events[at].position};
                    break;
                }
                s.buffer.emit(singleton.run.tip, singleton.run.length, events[at].position);
            }
            if (step.proceeds) {
                if (step.stays) stack.push_back({step.stayed, at + 1});
                singleton.run = step.proceeded;
            } else if (step.stays) {
                singleton.run = step.stayed;
            } else {
                break;
            }
        }
    }
}

template <class P, Strategy strategy, Output output, Shape shape>
void backtrack(State& s) {
    for (const std::vector<Event>& events : s.partitions) {
        const int64_t n = static_cast<int64_t>(events.size());
        for (int64_t start = 0; start < n; start++) {
            if (!begins(events[start].price)) continue;
            int64_t bound = n;
            Buffer::Found best{};
            explore<P, strategy, output, shape>(s, events, start, bound, best);
            if (output == ALL || bound == n) continue;
            // A later start may end earlier; one that ends at the same event comes after.
            for (int64_t rival = start + 1; rival < bound; rival++)
                if (begins(events[rival].price)) explore<P, strategy, output, shape>(s, events, rival, bound, best);
            s.buffer.emit(best.tip, best.length, best.last);
            start = bound;  // the loop goes on after the match
        }
    }
}

}  // namespace

EXPORT State* sase_new(int64_t partitions, int64_t window) {
    return new State{window, std::vector<std::vector<Event>>(partitions), {}, 0};
}
EXPORT void sase_reset(State* s) {
    for (std::vector<Event>& events : s->partitions) events.clear();
    s->buffer.clear();
    s->steps = 0;
}
EXPORT void sase_free(State* s) { delete s; }
EXPORT int64_t sase_matches(const State* s) { return s->buffer.found.size; }
EXPORT int64_t sase_positions(const State* s) { return s->buffer.positions; }
EXPORT int64_t sase_steps(const State* s) { return s->steps; }
EXPORT void sase_enumerate(const State* s, int64_t* offsets, int64_t* out) { s->buffer.enumerate(offsets, out); }

#define ALGORITHM(name, algorithm, ...)                                                                                \
    EXPORT void sase_##algorithm##_##name(State* s, int64_t n, int32_t base, const int32_t* symbol,                    \
                                          const int64_t* price, const int64_t* volume) {                               \
        for (int64_t i = 0; i < n; i++)                                                                                \
            s->partitions[symbol[i]].push_back({price[i], base + static_cast<int32_t>(i), ends(volume[i])});            \
        algorithm<__VA_ARGS__>(*s);                                                                                    \
    }
#define BOTH(name, ...) ALGORITHM(name, basic, __VA_ARGS__) ALGORITHM(name, backtrack, __VA_ARGS__)
BOTH(p1s2, P1, CONTIGUOUS, ALL, PLAIN)
BOTH(p1s3, P1, SKIP, ALL, PLAIN)
BOTH(p2s2, P2, CONTIGUOUS, ALL, PLAIN)
BOTH(p2s3, P2, SKIP, ALL, PLAIN)
BOTH(p3s2, P3, CONTIGUOUS, ALL, PLAIN)
BOTH(p3s3, P3, SKIP, ALL, PLAIN)
BOTH(p3s2_once, P3, CONTIGUOUS, NON_OVERLAP, PLAIN)
BOTH(p3s3_once, P3, SKIP, NON_OVERLAP, PLAIN)
BOTH(star_s2_once, P3, CONTIGUOUS, NON_OVERLAP, STAR)
BOTH(star_s3_once, P3, SKIP, NON_OVERLAP, STAR)
