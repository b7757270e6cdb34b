// W3: A, B and a rare C, the prices rising along the sequence, as a C++ programmer would write it by hand: lazily (DEBS'15).
//
// Nothing is compared before there is a C. Where C is the last, its arrival begins the search; where it is not, each C keeps the
// A's that go with it, and a B looks at the few C's of the window. All state lives in the object, so a stream can come in any
// number of batches.
#include "store.hpp"

#include <algorithm>
#include <vector>

namespace {

struct Event {
    int64_t time;
    double price;
    int32_t position;
};

struct Second {
    int64_t time;
    double price;
    int32_t position, before;  // how many A's came before it
};

struct Rare {
    Event event;
    std::vector<Event> partners;
    int64_t alive;  // the first partner that may be in the window
};

struct State {
    int64_t window;
    Column<Event> a;
    Column<Second> b;
    int64_t first_a = 0, first_b = 0;  // those before are out of the window
    std::vector<Rare> c;
    int64_t first_c = 0, last_c = 0;  // of `c`, which keeps its memory
    Column<int64_t> positions;  // in the order of the sequence, match after match
};

void emit(State& s, int32_t first, int32_t second, int32_t third) {
    s.positions.add(first);
    s.positions.add(second);
    s.positions.add(third);
}

Rare& add(State& s, const Event& event) {
    if (s.last_c == static_cast<int64_t>(s.c.size())) s.c.emplace_back();
    Rare& c = s.c[s.last_c++];
    c.event = event;
    c.partners.clear();
    c.alive = 0;
    return c;
}

}  // namespace

EXPORT State* w3_new(int64_t window) { return new State{window, {}, {}, 0, 0, {}, 0, 0, {}}; }
EXPORT void w3_reset(State* s) {
    s->a.clear();
    s->b.clear();
    s->first_a = s->first_b = s->first_c = s->last_c = 0;
    s->positions.clear();
}
EXPORT void w3_free(State* s) { delete s; }
EXPORT int64_t w3_matches(const State* s) { return s->positions.size / 3; }
EXPORT int64_t w3_positions(const State* s) { return s->positions.size; }

// SEQ(A a, B b, C c), in the order c, b, a.
EXPORT void w3_push_last(State* s, int64_t n, int32_t base, int32_t kind_a, int32_t kind_b, int32_t kind_c,
                         const int32_t* type, const int64_t* time, const double* price) {
    s->a.room(n);
    s->b.room(n);
    for (int64_t i = 0; i < n; i++) {
        const int32_t kind = type[i], position = base + static_cast<int32_t>(i);
        if (kind == kind_a) {
            s->a.add({time[i], price[i], position});
        } else if (kind == kind_b) {
            s->b.add({time[i], price[i], position, static_cast<int32_t>(s->a.size)});
        } else if (kind == kind_c) {
            const int64_t low = time[i] - s->window;
            const Event* a = s->a.at;
            const Second* b = s->b.at;
            while (s->first_a < s->a.size && a[s->first_a].time <= low) s->first_a++;
            while (s->first_b < s->b.size && b[s->first_b].time <= low) s->first_b++;
            for (int64_t j = s->first_b; j < s->b.size; j++) {
                const double bound = b[j].price;
                if (bound >= price[i]) continue;
                s->positions.room(3 * std::max<int64_t>(b[j].before - s->first_a, 0));
                for (int64_t k = s->first_a; k < b[j].before; k++)
                    if (a[k].price < bound) emit(*s, a[k].position, b[j].position, position);
            }
        }
    }
}

// SEQ(C c, A a, B b), in the order c, a, b.
EXPORT void w3_push_first(State* s, int64_t n, int32_t base, int32_t kind_a, int32_t kind_b, int32_t kind_c,
                          const int32_t* type, const int64_t* time, const double* price) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t kind = type[i];
        const Event event{time[i], price[i], base + static_cast<int32_t>(i)};
        if (kind == kind_c) {
            add(*s, event);
            continue;
        }
        while (s->first_c < s->last_c && s->c[s->first_c].event.time <= event.time - s->window) s->first_c++;
        for (int64_t k = s->first_c; k < s->last_c; k++) {
            Rare& c = s->c[k];
            if (kind == kind_a) {
                if (c.event.price < event.price) c.partners.push_back(event);
            } else if (kind == kind_b) {
                s->positions.room(3 * static_cast<int64_t>(c.partners.size()));
                for (const Event& a : c.partners)
                    if (a.price < event.price) emit(*s, c.event.position, a.position, event.position);
            }
        }
    }
}

// SEQ(A a, C c, B b), in the order c, a, b.
EXPORT void w3_push_middle(State* s, int64_t n, int32_t base, int32_t kind_a, int32_t kind_b, int32_t kind_c,
                           const int32_t* type, const int64_t* time, const double* price) {
    s->a.room(n);
    for (int64_t i = 0; i < n; i++) {
        const int32_t kind = type[i];
        const Event event{time[i], price[i], base + static_cast<int32_t>(i)};
        const int64_t low = event.time - s->window;
        if (kind == kind_a) {
            s->a.add(event);
        } else if (kind == kind_c) {
            Rare& c = add(*s, event);
            while (s->first_a < s->a.size && s->a.at[s->first_a].time <= low) s->first_a++;
            for (int64_t k = s->first_a; k < s->a.size; k++)
                if (s->a.at[k].price < event.price) c.partners.push_back(s->a.at[k]);
        } else if (kind == kind_b) {
            while (s->first_c < s->last_c && s->c[s->first_c].event.time <= low) s->first_c++;
            for (int64_t k = s->first_c; k < s->last_c; k++) {
                Rare& c = s->c[k];
                const int64_t partners = static_cast<int64_t>(c.partners.size());
                if (c.event.price >= event.price) continue;
                while (c.alive < partners && c.partners[c.alive].time <= low) c.alive++;
                s->positions.room(3 * (partners - c.alive));
                for (int64_t j = c.alive; j < partners; j++)
                    emit(*s, c.partners[j].position, c.event.position, event.position);
            }
        }
    }
}

EXPORT void w3_enumerate(const State* s, int64_t* offsets, int64_t* positions) {
    const int64_t matches = s->positions.size / 3;
    for (int64_t k = 0; k <= matches; k++) offsets[k] = 3 * k;
    std::copy(s->positions.at, s->positions.at + s->positions.size, positions);
}
