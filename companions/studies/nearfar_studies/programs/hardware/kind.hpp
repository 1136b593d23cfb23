// What the stand-in programs share: arguments, memory under a name, numbers that look random, and a
// region that is measured.
#pragma once

#include <nearfar/mark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace kind {

// The argument at `at`, a number; ends the program where it is missing or not a number above 0.
inline uint64_t number(int argc, char** argv, int at) {
  const uint64_t value = at < argc ? strtoull(argv[at], nullptr, 10) : 0;
  if (value == 0) {
    fprintf(stderr, "%s: argument %d must be a number above 0\n", argv[0], at);
    exit(2);
  }
  return value;
}

// The argument at `at`, a word.
inline const char* word(int argc, char** argv, int at) {
  if (at >= argc) {
    fprintf(stderr, "%s: argument %d is missing\n", argv[0], at);
    exit(2);
  }
  return argv[at];
}

// `count` zeroed values that are an object called `tag` in the profile.
template <typename Value>
Value* array(const char* tag, uint64_t count) {
  NEARFAR_TAG(tag);
  void* memory = aligned_alloc(4096, (count * sizeof(Value) + 4095) / 4096 * 4096);
  if (memory == nullptr) {
    fprintf(stderr, "no memory for %s\n", tag);
    exit(3);
  }
  memset(memory, 0, count * sizeof(Value));
  return static_cast<Value*>(memory);
}

// splitmix64.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t value = state_ += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }
  uint64_t below(uint64_t count) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Runs `work` once to warm caches, and once as the measured phase `run` of `operations`.
template <typename Work>
void measure(uint64_t operations, Work work) {
  work();
  NEARFAR_BEGIN("run");
  work();
  NEARFAR_END("run", operations);
}

inline volatile uint64_t sink;

}  // namespace kind
