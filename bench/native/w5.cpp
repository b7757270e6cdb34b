// W5: contiguous V-shapes, as a C++ programmer would write them by hand.
//
// Under strict contiguity every run that lives has taken every event since its start, so a run is a start, a state and a
// register, and a match is a range of positions. All state lives in the object, so a stream can come in any number of
// batches; that is also why the loop keeps runs and does not walk ahead from each start.
#include "store.hpp"

#include <vector>

namespace {

enum Phase : int32_t { DROPPED, FALL, RISE, FALL_AGAIN, RISE_AGAIN };

struct Run {
    int32_t start;
    Phase phase;
    int32_t balance;  // falls minus rises
};

struct Found {
    int32_t start, end;
};

struct State {
    int64_t window;
    double last = 0;  // the price of the event before
    std::vector<Run> runs;
    Column<Found> found;
    int64_t positions = 0;
};

void emit(State& s, int32_t start, int32_t end) {
    s.found.add({start, end});
    s.positions += end - start + 1;
}

// What a rise or a fall makes of a run: the next phase, or -1 when it ends.
int32_t after(Phase phase, bool rise) {
    if (phase == DROPPED) return rise ? -1 : FALL;
    const bool rising = phase == RISE || phase == RISE_AGAIN;
    if (rise == rising) return phase;
    return phase == RISE_AGAIN ? -1 : phase + 1;
}

}  // namespace

EXPORT State* w5_new(int64_t window) { return new State{window, 0, {}, {}, 0}; }
EXPORT void w5_free(State* s) { delete s; }
EXPORT int64_t w5_matches(const State* s) { return s->found.size; }
EXPORT int64_t w5_positions(const State* s) { return s->positions; }

// AFA's Q1: a drop, then two Vs with as many rises as falls.
EXPORT void w5_push_balanced(State* s, int64_t n, int32_t base, int32_t tick, const int32_t* type, const double* change) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t position = base + static_cast<int32_t>(i);
        const bool relevant = type[i] == tick, rise = change[i] > 0, fall = change[i] < 0;
        const int64_t alive = static_cast<int64_t>(s->runs.size());
        s->found.room(alive);
        int64_t kept = 0;
        if (relevant && (rise || fall))
            for (int64_t k = 0; k < alive; k++) {
                Run run = s->runs[k];
                const int32_t phase = after(run.phase, rise);
                if (phase < 0 || position - run.start >= s->window) continue;
                run.phase = static_cast<Phase>(phase);
                run.balance += rise ? -1 : 1;
                if (phase == RISE_AGAIN && run.balance == 0) emit(*s, run.start, position);
                s->runs[kept++] = run;
            }
        s->runs.resize(kept);
        if (relevant && change[i] < -0.25) s->runs.push_back({position, DROPPED, 0});
    }
}

// A large drop, then two Vs told by prices, up to the first fall after the second.
EXPORT void w5_push_prices(State* s, int64_t n, int32_t base, int32_t tick, const int32_t* type, const double* price,
                           const double* change) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t position = base + static_cast<int32_t>(i);
        const bool relevant = type[i] == tick, rise = price[i] > s->last, fall = price[i] < s->last;
        const int64_t alive = static_cast<int64_t>(s->runs.size());
        s->found.room(alive);
        int64_t kept = 0;
        if (relevant && (rise || fall))
            for (int64_t k = 0; k < alive; k++) {
                Run run = s->runs[k];
                if (position - run.start >= s->window) continue;
                const int32_t phase = after(run.phase, rise);
                if (phase >= 0) {
                    run.phase = static_cast<Phase>(phase);
                    s->runs[kept++] = run;
                } else if (run.phase == RISE_AGAIN) {
                    emit(*s, run.start, position);
                }
            }
        s->runs.resize(kept);
        if (relevant && change[i] < -1.0) s->runs.push_back({position, FALL, 0});
        s->last = price[i];
    }
}

EXPORT void w5_enumerate(const State* s, int64_t* offsets, int64_t* positions) {
    int64_t end = 0;
    for (int64_t k = 0; k < s->found.size; k++) {
        offsets[k] = end;
        for (int32_t at = s->found.at[k].start; at <= s->found.at[k].end; at++) positions[end++] = at;
    }
    offsets[s->found.size] = end;
}
