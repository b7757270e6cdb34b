// W4: SEQ(Shelf a, !(Register b), Exit c) by tag, as a C++ programmer would write it by hand.
//
// Each tag has a list of its shelf readings since it was last registered, newest first; a register reading empties it.
// All state lives in the object, so a stream can come in any number of batches.
#include "store.hpp"

#include <algorithm>
#include <vector>

namespace {

struct Shelf {
    int64_t time;
    int32_t position, before;
};

struct State {
    int64_t window;
    std::vector<int32_t> newest;  // by tag
    Column<Shelf> shelves;
    Column<int64_t> positions;  // a and c, match after match
};

}  // namespace

EXPORT State* w4_new(int64_t tags, int64_t window) { return new State{window, std::vector<int32_t>(tags, -1), {}, {}}; }
EXPORT void w4_reset(State* s) {
    std::fill(s->newest.begin(), s->newest.end(), -1);
    s->shelves.clear();
    s->positions.clear();
}
EXPORT void w4_free(State* s) { delete s; }
EXPORT int64_t w4_matches(const State* s) { return s->positions.size / 2; }
EXPORT int64_t w4_positions(const State* s) { return s->positions.size; }

EXPORT void w4_push(State* s, int64_t n, int32_t base, int32_t shelf, int32_t reg, int32_t exit, const int32_t* type,
                    const int32_t* tag, const int64_t* time) {
    s->shelves.room(n);
    for (int64_t i = 0; i < n; i++) {
        const int32_t kind = type[i];
        int32_t& newest = s->newest[tag[i]];
        if (kind == shelf) {
            s->shelves.add({time[i], base + static_cast<int32_t>(i), newest});
            newest = static_cast<int32_t>(s->shelves.size - 1);
        } else if (kind == reg) {
            newest = -1;
        } else if (kind == exit && newest >= 0) {
            const int64_t first = s->positions.size;
            for (int32_t a = newest; a >= 0 && time[i] - s->shelves.at[a].time < s->window; a = s->shelves.at[a].before) {
                s->positions.room(2);
                s->positions.add(base + i);  // reversed below: matches come in the order of their starts
                s->positions.add(s->shelves.at[a].position);
            }
            std::reverse(s->positions.at + first, s->positions.at + s->positions.size);
        }
    }
}

EXPORT void w4_enumerate(const State* s, int64_t* offsets, int64_t* positions) {
    const int64_t matches = s->positions.size / 2;
    for (int64_t k = 0; k <= matches; k++) offsets[k] = 2 * k;
    std::copy(s->positions.at, s->positions.at + s->positions.size, positions);
}
