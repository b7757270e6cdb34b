// Algorithm 1 of AFA (VLDB'10, section 5.1 and appendix C): a list of partial matches for each event, late events inserted
// between them, and what a late event spans taken back and made anew. Twice:
//
// - Printed: with the structures that the paper has, a red-black tree of events, each with a linked list, and with the
//   automata of its Figure 3.
// - Tuned: as well as we can make it. Events lie in a sorted array of times, lists in one piece each, and the automata are
//   deterministic, so that a run is one node and not two. A list has its youngest start first: what a late event makes
//   invalid is then its end, and what is made anew is appended, which keeps the order (line 24) without moving anything.
//
// Windows are lifetimes, as in the paper: of W events where there is one in each unit of time. What it gives are changes:
// the times of the first and the last event, the count in the register, and the sign.
#include "store.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <vector>

namespace {

struct Event {
    int64_t time;
    double price, change;
};

struct Change {
    int64_t start, end;
    int32_t count, sign;
};

double DROP = 0.25;  // which a caller may set: see afa_drop

// Q1: a drop, then K Vs with as many rises as falls in all. Figure 3: q1 falls, q2 rises; falls - rises, and Vs, in the register.
template <int K>
struct BalancedPrinted {
    enum State : int16_t { FALL, RISE, FINAL };
    struct Node {
        int64_t start;
        int32_t balance;
        int16_t count;
        State state;
    };
    static const int FORKS = 2;

    static bool begin(const Event& e, Node& node) {
        node = {e.time, 0, 0, FALL};
        return e.change < -DROP;
    }
    static Node* step(const Node& n, const Event& e, Node* out) {
        if (n.state == FALL) {
            if (e.change < 0) {
                *out++ = {n.start, n.balance + 1, n.count, FALL};
                *out++ = {n.start, n.balance + 1, n.count, RISE};
            }
        } else if (n.state == RISE && e.change > 0) {
            *out++ = {n.start, n.balance - 1, n.count, RISE};
            const int16_t vs = n.count + 1;
            if (vs < K)
                *out++ = {n.start, n.balance - 1, vs, FALL};
            else if (n.balance == 1)
                *out++ = {n.start, 0, vs, FINAL};
        }
        return out;
    }
    static bool final(const Node& n) { return n.state == FINAL; }
};

// The same with a state for each leg. A run in the last one that is balanced can't be so again.
template <int K>
struct BalancedTuned {
    static const int32_t LAST = 2 * K, FINAL = LAST + 1;  // after the drop 0, falls are odd, rises even
    struct Node {
        int64_t start;
        int32_t balance, state;
        static const int16_t count = K;
    };
    static const int FORKS = 1;

    static bool begin(const Event& e, Node& node) {
        node = {e.time, 0, 0};
        return e.change < -DROP;
    }
    static Node* step(const Node& n, const Event& e, Node* out) {
        if (n.state == FINAL || e.change == 0) return out;
        const bool rise = e.change > 0, goes_on = rise != (n.state & 1);
        const int32_t state = n.state + !(goes_on && n.state), balance = n.balance + (rise ? -1 : 1);
        if (state > LAST || (state == 1 && rise)) return out;
        *out++ = {n.start, balance, state == LAST && balance == 0 ? FINAL : state};
        return out;
    }
    static bool final(const Node& n) { return n.state == FINAL; }
};

// Q2: a drop, then Vs until the price before it is reached; they are counted.
struct ReachedPrinted {
    enum State : int32_t { FALL, RISE, FINAL };
    struct Node {
        int64_t start;
        double before;
        int32_t count;
        State state;
    };
    static const int FORKS = 2;

    static bool begin(const Event& e, Node& node) {
        node = {e.time, e.price - e.change, 0, FALL};
        return e.change < -DROP;
    }
    static Node* step(const Node& n, const Event& e, Node* out) {
        if (n.state == FALL) {
            if (e.change < 0) {
                *out++ = {n.start, n.before, n.count, FALL};
                *out++ = {n.start, n.before, n.count, RISE};
            }
        } else if (n.state == RISE && e.change > 0) {
            if (e.price >= n.before) {
                *out++ = {n.start, n.before, n.count + 1, FINAL};
            } else {
                *out++ = {n.start, n.before, n.count, RISE};
                *out++ = {n.start, n.before, n.count + 1, FALL};
            }
        }
        return out;
    }
    static bool final(const Node& n) { return n.state == FINAL; }
};

struct ReachedTuned {
    enum State : int32_t { DROPPED, FALL, RISE, FINAL };
    struct Node {
        int64_t start;
        double before;
        int32_t count;
        State state;
    };
    static const int FORKS = 1;

    static bool begin(const Event& e, Node& node) {
        node = {e.time, e.price - e.change, 0, DROPPED};
        return e.change < -DROP;
    }
    static Node* step(const Node& n, const Event& e, Node* out) {
        if (n.state == FINAL || e.change == 0) return out;
        if (e.change < 0)
            *out++ = {n.start, n.before, n.count + (n.state == RISE), FALL};
        else if (n.state != DROPPED)
            *out++ = {n.start, n.before, n.count + (e.price >= n.before), e.price >= n.before ? FINAL : RISE};
        return out;
    }
    static bool final(const Node& n) { return n.state == FINAL; }
};

struct Operator {
    int64_t window;
    int64_t latest = INT64_MIN;
    Column<Change> changes;
    int64_t most = 0;  // bytes of events and partial matches that were held at once

    explicit Operator(int64_t window) : window(window) {}
    virtual ~Operator() = default;
    virtual void clear() = 0;
    virtual void push(int64_t n, const int64_t* time, const double* price, const double* change) = 0;
    virtual void clean(int64_t watermark) = 0;
    virtual int64_t held() const = 0;

    void reset() {
        latest = INT64_MIN;
        changes.clear();
        most = 0;
        clear();
    }
    template <class Node>
    void emit(const Node& node, int64_t end, int32_t sign) {
        changes.room(1);
        changes.add({node.start, end, node.count, sign});
    }
};

template <class Query>
struct Printed final : Operator {
    using Node = typename Query::Node;
    struct Entry {
        Event event;
        std::list<Node> list;  // in the order of their starts
    };
    std::map<int64_t, Entry> tree;
    int64_t nodes = 0;

    using Operator::Operator;

    void clear() override {
        tree.clear();
        nodes = 0;
    }
    int64_t held() const override { return tree.size() * sizeof(Event) + nodes * sizeof(Node); }

    void push(int64_t n, const int64_t* time, const double* price, const double* change) override {
        for (int64_t i = 0; i < n; i++) insert({time[i], price[i], change[i]});
    }

    void insert(const Event& e) {
        const bool late = e.time < latest;
        if (late) remove_invalidated(e.time);
        auto after = late ? tree.upper_bound(e.time) : tree.end();
        auto y = tree.emplace_hint(after, e.time, Entry{e, {}});
        Node node;
        std::list<Node>& list = y->second.list;
        if (y != tree.begin()) {
            std::list<Node>& before = std::prev(y)->second.list;
            list = transitions(before.begin(), before.end(), e);
        }
        if (Query::begin(e, node)) {
            list.push_back(node);
            nodes++;
        }
        if (late)
            propagate(y);
        else
            latest = e.time;
    }

    using Place = typename std::list<Node>::iterator;

    std::list<Node> transitions(Place from, Place upto, const Event& e) {
        std::list<Node> made;
        Node out[Query::FORKS];
        for (; from != upto; ++from) {
            if (e.time - from->start >= window) continue;
            for (Node *at = out, *end = Query::step(*from, e, out); at != end; at++) {
                made.push_back(*at);
                nodes++;
                if (Query::final(*at)) emit(*at, e.time, 1);
            }
        }
        return made;
    }

    void remove_invalidated(int64_t time) {
        bool done = false;
        for (auto e = tree.upper_bound(time); e != tree.end() && !done; ++e) {
            done = true;
            std::list<Node>& list = e->second.list;
            while (!list.empty() && list.front().start <= time) {
                if (Query::final(list.front())) emit(list.front(), e->first, -1);
                done = false;
                list.pop_front();
                nodes--;
            }
        }
    }

    void propagate(typename std::map<int64_t, Entry>::iterator y) {
        Place from = y->second.list.begin(), upto = y->second.list.end();
        while (from != upto && ++y != tree.end()) {
            std::list<Node>& list = y->second.list;
            std::list<Node> made = transitions(from, upto, y->second.event);
            upto = list.begin();  // what is made is in front of what there was
            list.splice(upto, made);
            from = list.begin();
        }
    }

    void clean(int64_t watermark) override {
        most = std::max(most, held());
        auto cover = tree.lower_bound(watermark);
        if (cover == tree.begin()) return;
        --cover;
        for (auto at = tree.begin(); at != cover; at = tree.erase(at)) nodes -= at->second.list.size();
    }
};

template <class Query>
struct Tuned final : Operator {
    using Node = typename Query::Node;
    struct Entry {
        Event event;
        Node* at;
        int32_t size, rank;  // room for 2^rank nodes; none where at is null
    };
    static const int RANKS = 24;
    std::vector<int64_t> times;   // of the entries, sorted
    std::vector<int32_t> places;  // of the same in the pool
    int64_t low = 0, high = 0;
    std::vector<Entry> pool;
    std::vector<int32_t> unused;
    std::vector<Node*> spare[RANKS];
    std::vector<void*> pages;
    char *page = nullptr, *page_end = nullptr;
    std::vector<Node> scratch;
    int64_t nodes = 0;

    explicit Tuned(int64_t window) : Operator(window), times(1 << 14), places(1 << 14), scratch(64) {}
    ~Tuned() override {
        for (void* one : pages) std::free(one);
    }

    void clear() override {
        for (int64_t k = low; k < high; k++) drop(places[k]);
        low = high = 0;
    }
    int64_t held() const override { return (high - low) * sizeof(Event) + nodes * sizeof(Node); }

    Node* allocate(int32_t rank) {
        if (!spare[rank].empty()) {
            Node* node = spare[rank].back();
            spare[rank].pop_back();
            return node;
        }
        const int64_t bytes = sizeof(Node) << rank;
        if (page_end - page < bytes) {
            const int64_t size = std::max<int64_t>(bytes, 1 << 18);
            page = static_cast<char*>(std::malloc(size));
            page_end = page + size;
            pages.push_back(page);
        }
        Node* node = reinterpret_cast<Node*>(page);
        page += bytes;
        return node;
    }
    void release(Entry& entry) {
        if (entry.at) spare[entry.rank].push_back(entry.at);
        entry.at = nullptr;
    }
    static int32_t rank_of(int64_t size) { return size <= 1 ? 0 : 64 - __builtin_clzll(size - 1); }

    void room(Entry& entry, int64_t size) {
        if (entry.at && size <= int64_t{1} << entry.rank) return;
        const int32_t rank = rank_of(size);
        Node* moved = allocate(rank);
        if (entry.size) std::memcpy(moved, entry.at, entry.size * sizeof(Node));
        release(entry);
        entry.at = moved;
        entry.rank = rank;
    }
    void drop(int32_t place) {
        nodes -= pool[place].size;
        release(pool[place]);
        unused.push_back(place);
    }

    void push(int64_t n, const int64_t* time, const double* price, const double* change) override {
        if (high + n > static_cast<int64_t>(times.size())) make_room(n);
        for (int64_t i = 0; i < n; i++) insert({time[i], price[i], change[i]});
    }
    void make_room(int64_t n) {
        std::copy(times.begin() + low, times.begin() + high, times.begin());
        std::copy(places.begin() + low, places.begin() + high, places.begin());
        high -= low;
        low = 0;
        if (2 * (high + n) > static_cast<int64_t>(times.size())) {
            times.resize(2 * (high + n));
            places.resize(2 * (high + n));
        }
    }

    void insert(const Event& e) {
        const bool late = e.time < latest;
        int64_t at = high;
        if (late) {
            at = std::upper_bound(times.begin() + low, times.begin() + high, e.time) - times.begin();
            remove_invalidated(at, e.time);
            std::memmove(&times[at + 1], &times[at], (high - at) * sizeof(int64_t));
            std::memmove(&places[at + 1], &places[at], (high - at) * sizeof(int32_t));
        } else {
            latest = e.time;
        }
        int32_t place;
        if (unused.empty()) {
            place = static_cast<int32_t>(pool.size());
            pool.push_back({});
        } else {
            place = unused.back();
            unused.pop_back();
        }
        times[at] = e.time;
        places[at] = place;
        high++;
        Entry& y = pool[place];
        y.event = e;
        y.size = 0;
        y.at = nullptr;
        const Entry* before = at > low ? &pool[places[at - 1]] : nullptr;
        const int64_t most_made = 1 + (before ? Query::FORKS * before->size : 0);
        if (most_made > static_cast<int64_t>(scratch.size())) scratch.resize(2 * most_made);
        Node* end = scratch.data();
        end += Query::begin(e, *end);
        if (before) end = transitions(before->at, before->at + before->size, e, end);
        const int64_t made = end - scratch.data();
        if (made) {
            room(y, made);
            std::memcpy(y.at, scratch.data(), made * sizeof(Node));
            y.size = static_cast<int32_t>(made);
            nodes += made;
            if (late) propagate(at, made);
        }
    }

    Node* transitions(const Node* from, const Node* upto, const Event& e, Node* out) {
        for (; from != upto; from++) {
            if (e.time - from->start >= window) break;  // all that follow are older
            Node* made = out;
            out = Query::step(*from, e, out);
            for (; made != out; made++)
                if (Query::final(*made)) emit(*made, e.time, 1);
        }
        return out;
    }

    void remove_invalidated(int64_t at, int64_t time) {
        for (; at < high; at++) {
            Entry& entry = pool[places[at]];
            int32_t size = entry.size;
            while (size && entry.at[size - 1].start <= time) {
                size--;
                if (Query::final(entry.at[size])) emit(entry.at[size], entry.event.time, -1);
            }
            if (size == entry.size) break;
            nodes -= entry.size - size;
            entry.size = size;
        }
    }

    // The last `made` nodes of an entry are new.
    void propagate(int64_t at, int64_t made) {
        const Entry* from = &pool[places[at]];
        while (made && ++at < high) {
            Entry& y = pool[places[at]];
            room(y, y.size + Query::FORKS * made);
            Node* end = y.at + y.size;
            end = transitions(from->at + from->size - made, from->at + from->size, y.event, end);
            made = end - (y.at + y.size);
            y.size += static_cast<int32_t>(made);
            nodes += made;
            from = &y;
        }
    }

    void clean(int64_t watermark) override {
        most = std::max(most, held());
        const int64_t cover = std::lower_bound(times.begin() + low, times.begin() + high, watermark) - times.begin() - 1;
        for (; low < cover; low++) drop(places[low]);
    }
};

template <template <class> class Store, class Q1K1, class Q1K2, class Q2>
Operator* made(int64_t query, int64_t window) {
    if (query == 2) return new Store<Q2>(window);
    if (query == 11) return new Store<Q1K1>(window);
    return new Store<Q1K2>(window);
}

}  // namespace

// query: 11 and 12 are Q1 with one and two Vs, 2 is Q2.
EXPORT Operator* afa_new(int64_t tuned, int64_t query, int64_t window) {
    if (tuned) return made<Tuned, BalancedTuned<1>, BalancedTuned<2>, ReachedTuned>(query, window);
    return made<Printed, BalancedPrinted<1>, BalancedPrinted<2>, ReachedPrinted>(query, window);
}
EXPORT void afa_free(Operator* o) { delete o; }
EXPORT void afa_drop(double least) { DROP = least; }
EXPORT int64_t afa_changes(const Operator* o) { return o->changes.size; }
EXPORT int64_t afa_held(const Operator* o) { return o->most; }

// A stream from its beginning, in batches; after each the punctuation is `lateness` behind the latest event.
EXPORT void afa_run(Operator* o, int64_t n, int64_t batch, int64_t lateness, const int64_t* time, const double* price,
                    const double* change) {
    o->reset();
    for (int64_t at = 0; at < n; at += batch) {
        o->push(std::min(batch, n - at), time + at, price + at, change + at);
        o->clean(o->latest - lateness);
    }
}

EXPORT void afa_read(const Operator* o, int64_t* start, int64_t* end, int64_t* sign) {
    for (int64_t k = 0; k < o->changes.size; k++) {
        const Change& change = o->changes.at[k];
        start[k] = change.start;
        end[k] = change.end;
        sign[k] = change.sign;
    }
}
