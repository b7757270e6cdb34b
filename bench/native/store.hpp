// What the three loops share: a growing array that is checked once per event, and the list of matches found.
#pragma once

#include <cstdint>
#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))

// std::vector checks its capacity at every push_back; here a loop asks for room once and then writes.
template <class T>
struct Column {
    T* at = nullptr;
    int64_t size = 0, capacity = 0;

    ~Column() { std::free(at); }

    void room(int64_t more) {
        if (size + more <= capacity) return;
        while (size + more > capacity) capacity = capacity ? 2 * capacity : 4096;
        at = static_cast<T*>(std::realloc(at, capacity * sizeof(T)));
    }

    void clear() { size = 0; }  // the memory stays, for the next run

    void add(T value) { at[size++] = value; }
};
