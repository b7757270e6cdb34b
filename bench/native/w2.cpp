// W2: SEQ(E1 a, E2 b, E3 c) by key, as a C++ programmer would write it by hand: SASE's partitioned stacks (4.1, 4.2.1).
//
// Each key has a stack of its a's and one of its b's, newest first; a b knows the newest a before it. A c walks down both, up to
// the window. All state lives in the object, so a stream can come in any number of batches.
#include "store.hpp"

#include <algorithm>
#include <vector>

namespace {

struct First {
    int64_t time;
    int32_t position, before;
};

struct Second {
    int64_t time;
    int32_t position, before;
    int32_t newest;  // of the firsts that came before
};

struct State {
    int64_t window;
    std::vector<int32_t> a, b;  // the top of each stack, by key
    Column<First> firsts;
    Column<Second> seconds;
    Column<int64_t> positions;  // a, b and c, match after match
};

}  // namespace

EXPORT State* w2_new(int64_t keys, int64_t window) {
    return new State{window, std::vector<int32_t>(keys, -1), std::vector<int32_t>(keys, -1), {}, {}, {}};
}
EXPORT void w2_reset(State* s) {
    std::fill(s->a.begin(), s->a.end(), -1);
    std::fill(s->b.begin(), s->b.end(), -1);
    s->firsts.clear();
    s->seconds.clear();
    s->positions.clear();
}
EXPORT void w2_free(State* s) { delete s; }
EXPORT int64_t w2_matches(const State* s) { return s->positions.size / 3; }
EXPORT int64_t w2_positions(const State* s) { return s->positions.size; }

EXPORT void w2_push(State* s, int64_t n, int32_t base, int32_t first, int32_t second, int32_t third, const int32_t* type,
                    const int32_t* key, const int64_t* time) {
    s->firsts.room(n);
    s->seconds.room(n);
    for (int64_t i = 0; i < n; i++) {
        const int32_t kind = type[i], position = base + static_cast<int32_t>(i);
        if (kind == first) {
            int32_t& top = s->a[key[i]];
            s->firsts.add({time[i], position, top});
            top = static_cast<int32_t>(s->firsts.size - 1);
        } else if (kind == second) {
            const int32_t newest = s->a[key[i]];
            if (newest < 0) continue;
            int32_t& top = s->b[key[i]];
            s->seconds.add({time[i], position, top, newest});
            top = static_cast<int32_t>(s->seconds.size - 1);
        } else if (kind == third) {
            const int64_t low = time[i] - s->window;
            const First* firsts = s->firsts.at;
            const Second* seconds = s->seconds.at;
            for (int32_t b = s->b[key[i]]; b >= 0 && seconds[b].time > low; b = seconds[b].before)
                for (int32_t a = seconds[b].newest; a >= 0 && firsts[a].time > low; a = firsts[a].before) {
                    s->positions.room(3);
                    s->positions.add(firsts[a].position);
                    s->positions.add(seconds[b].position);
                    s->positions.add(position);
                }
        }
    }
}

EXPORT void w2_enumerate(const State* s, int64_t* offsets, int64_t* positions) {
    const int64_t matches = s->positions.size / 3;
    for (int64_t k = 0; k <= matches; k++) offsets[k] = 3 * k;
    std::copy(s->positions.at, s->positions.at + s->positions.size, positions);
}
