// Requests of a thread to a set, reproducible from its seed, and their outcomes.
#pragma once

#include <cstdint>

namespace nearfar::bench {

// Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t operator()() noexcept { return mix(state_ += 0x9E3779B97F4A7C15ULL); }
  static std::uint64_t mix(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31U);
  }

 private:
  std::uint64_t state_;
};

enum class Verb : std::uint8_t { look_up, insert, remove };

struct Request {
  Verb verb;
  std::int64_t key;
};

// Runs the request; returns true if the key was found, was new, or was removed.
template <typename Set>
bool apply(Set& set, Request request, SplitMix& draw) {
  switch (request.verb) {
    case Verb::look_up:
      return set.contains(request.key);
    case Verb::insert:
      return set.insert(request.key, draw);
    case Verb::remove:
      return set.remove(request.key);
  }
  return false;
}

// Draws keys uniformly from [0, range). Every second update inserts, the others remove: drawn keys
// or, if `alternate` (like the published program), the thread's last inserted key.
class Requests {
 public:
  Requests(std::uint64_t seed, std::uint64_t range, double updates_percent, bool alternate) noexcept
      : draw_(seed),
        range_(range),
        updates_(static_cast<std::uint64_t>(updates_percent / 100.0 * 4294967296.0)),
        alternate_(alternate) {}

  Request next() noexcept {
    const std::uint64_t bits = draw_();
    const std::uint64_t share = bits & 0xFFFFFFFFU;
    const auto key = static_cast<std::int64_t>(((bits >> 32U) * range_) >> 32U);
    if (share >= updates_) return {Verb::look_up, key};
    if (!alternate_) return {share < updates_ / 2 ? Verb::insert : Verb::remove, key};
    if (last_ < 0) {
      inserting_ = key;
      return {Verb::insert, key};
    }
    return {Verb::remove, last_};
  }
  // Must be called after each next().
  void record_outcome(Verb verb, bool changed) noexcept {
    if (!alternate_ || verb == Verb::look_up) return;
    if (verb == Verb::remove) {
      last_ = -1;
    } else if (changed) {
      last_ = inserting_;
    }
  }

  static constexpr std::uint64_t max_range = 1ULL << 32U;

 private:
  SplitMix draw_;
  std::uint64_t range_;
  std::uint64_t updates_;  // share of updates, times 2^32
  bool alternate_;
  std::int64_t last_ = -1;
  std::int64_t inserting_ = -1;
};

// Outcomes of a thread's requests. `content`: sum of the hashes of all inserted keys minus those of
// all removed keys; the sums of all threads must equal that of the final content, in any order of
// the threads.
struct alignas(64) Tally {
  std::uint64_t requests = 0;
  std::uint64_t found = 0;
  std::uint64_t inserted = 0;
  std::uint64_t removed = 0;
  std::uint64_t content = 0;

  static std::uint64_t hash(std::int64_t key) noexcept {
    return SplitMix::mix(static_cast<std::uint64_t>(key) + 1);
  }
  void add(Request request, bool succeeded) noexcept {
    ++requests;
    if (!succeeded) return;
    switch (request.verb) {
      case Verb::look_up:
        ++found;
        break;
      case Verb::insert:
        ++inserted;
        content += hash(request.key);
        break;
      case Verb::remove:
        ++removed;
        content -= hash(request.key);
        break;
    }
  }
};

}  // namespace nearfar::bench
