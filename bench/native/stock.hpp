// The stock template of SASE+ section 6: its iterator predicates, and the buffer that the runs share.
#pragma once

#include "store.hpp"

// What an iterator predicate needs of the past is one number: the register of a run.
struct P1 {  // true
    static bool take(int64_t, int64_t) { return true; }
    static int64_t next(int64_t price, int64_t) { return price; }
};
struct P2 {  // a[i].price > a[i-1].price
    static bool take(int64_t price, int64_t last) { return price > last; }
    static int64_t next(int64_t price, int64_t) { return price; }
};
struct P3 {  // a[i].price > min(a[..i-1].price)
    static bool take(int64_t price, int64_t least) { return price > least; }
    static int64_t next(int64_t price, int64_t least) { return price < least ? price : least; }
};

inline bool begins(int64_t price) { return price % 500 == 0; }
inline bool ends(int64_t volume) { return volume < 150; }

// The events that runs took, each with the one taken before (SASE+ 5.1): a match is a tip of it and its last event.
struct Buffer {
    struct Taken {
        int32_t position, before;
    };
    struct Found {
        int32_t tip, length, last;
    };

    Column<Taken> taken;
    Column<Found> found;
    int64_t positions = 0;  // of all matches together

    void clear() {
        taken.clear();
        found.clear();
        positions = 0;
    }

    void room(int64_t more) {
        taken.room(more);
        found.room(more);
    }

    int32_t take(int32_t position, int32_t before) {
        taken.add({position, before});
        return static_cast<int32_t>(taken.size - 1);
    }

    void emit(int32_t tip, int32_t length, int32_t last) {
        found.add({tip, length, last});
        positions += length + 1;
    }

    // The events of match k are out[offsets[k]] … out[offsets[k + 1] - 1].
    void enumerate(int64_t* offsets, int64_t* out) const {
        int64_t end = 0;
        for (int64_t k = 0; k < found.size; k++) {
            const Found& match = found.at[k];
            offsets[k] = end;
            end += match.length + 1;
            int64_t at = end - 1;
            out[at] = match.last;
            for (int32_t tip = match.tip; tip >= 0; tip = taken.at[tip].before) out[--at] = taken.at[tip].position;
        }
        offsets[found.size] = end;
    }
};
