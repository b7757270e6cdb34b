// W1: SEQ(Stock+ a[], Stock b) by symbol, as a C++ programmer would write it by hand.
//
// Runs of a partition lie side by side, oldest first, and are compacted while they are stepped. All state lives in the
// object, so a stream can come in any number of batches. This is also SASE+'s basic algorithm (5.2.1).
#include "stock.hpp"

#include <vector>

namespace {

struct Run {
    int64_t start;  // its first event, as a position in the partition
    int64_t value;
    int32_t tip, length;
};

struct Partition {
    int64_t events = 0;
    std::vector<Run> runs;
};

struct State {
    int64_t window;
    std::vector<Partition> partitions;
    Buffer buffer;
};

template <class P, bool skip>
void push(State& s, int64_t n, int32_t base, int32_t stock, const int32_t* type, const int32_t* symbol,
          const int64_t* price, const int64_t* volume) {
    for (int64_t i = 0; i < n; i++) {
        Partition& partition = s.partitions[symbol[i]];
        std::vector<Run>& runs = partition.runs;
        const int64_t at = partition.events++, x = price[i];
        const int32_t position = base + static_cast<int32_t>(i);
        const bool relevant = type[i] == stock;
        const int64_t alive = static_cast<int64_t>(runs.size());
        if (alive) {
            s.buffer.room(alive);
            const bool b = relevant && ends(volume[i]);
            int64_t kept = 0;
            for (int64_t k = 0; k < alive; k++) {
                Run run = runs[k];
                if (at - run.start >= s.window) continue;
                if (b) s.buffer.emit(run.tip, run.length, position);
                if (relevant && P::take(x, run.value)) {
                    run.value = P::next(x, run.value);
                    run.tip = s.buffer.take(position, run.tip);
                    run.length++;
                } else if (!skip) {
                    continue;
                }
                runs[kept++] = run;
            }
            runs.resize(kept);
        }
        if (relevant && begins(x)) {
            s.buffer.room(1);
            runs.push_back({at, x, s.buffer.take(position, -1), 1});
        }
    }
}

}  // namespace

EXPORT State* w1_new(int64_t partitions, int64_t window) {
    return new State{window, std::vector<Partition>(partitions), {}};
}
EXPORT void w1_reset(State* s) {
    for (Partition& partition : s->partitions) {
        partition.events = 0;
        partition.runs.clear();
    }
    s->buffer.clear();
}
EXPORT void w1_free(State* s) { delete s; }
EXPORT int64_t w1_matches(const State* s) { return s->buffer.found.size; }
EXPORT int64_t w1_positions(const State* s) { return s->buffer.positions; }
EXPORT void w1_enumerate(const State* s, int64_t* offsets, int64_t* out) { s->buffer.enumerate(offsets, out); }

#define PUSH(name, predicate, skip)                                                                                   \
    EXPORT void name(State* s, int64_t n, int32_t base, int32_t stock, const int32_t* type, const int32_t* symbol,     \
                     const int64_t* price, const int64_t* volume) {                                                    \
        push<predicate, skip>(*s, n, base, stock, type, symbol, price, volume);                                        \
    }
PUSH(w1_push_p1s2, P1, false)
PUSH(w1_push_p1s3, P1, true)
PUSH(w1_push_p2s2, P2, false)
PUSH(w1_push_p2s3, P2, true)
PUSH(w1_push_p3s2, P3, false)
PUSH(w1_push_p3s3, P3, true)
