// A small core with a cache before two memories, and made-up programs of several objects on it.
//
// What the row `place_truth` holds plans against: nothing of nearfar's models is in it. The cache
// is that of native/sim. The core issues accesses in order; as many loads as its window holds may
// be under way, and as many misses as it has buffers; a chase waits for the load before it, a
// stream is fetched ahead, a store waits for nobody until the store buffer is full. A memory has a
// latency and serves one line after another.
//
// Input (text): near and far (latency, ns per line read, ns per line written), then a mode:
//   chains K | stream | write                 ns per access of a micro-benchmark in near memory
//   program SEED ORDER COUNT ...              sizes, counts of each object, near time; then the
//   time
//                                             of each of COUNT placements: a share near per object
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "sim/cache/lru_cache.hpp"

namespace {

using nearfar::sim::CacheGeometry;
using nearfar::sim::LineWord;
using nearfar::sim::LruCache;

using Nanoseconds = double;

struct Timing {
  Nanoseconds latency = 0;
  Nanoseconds read = 0;
  Nanoseconds write = 0;
};

struct Memory {
  Timing timing;
  Nanoseconds free_at = 0;

  Nanoseconds fetch(Nanoseconds at) {
    const Nanoseconds begin = std::max(at, free_at);
    free_at = begin + timing.read;
    return begin + std::max(timing.latency, timing.read);
  }
  void write_back(Nanoseconds at) { free_at = std::max(at, free_at) + timing.write; }
};

enum class Pattern { chase, gather, stream, scatter, log };
constexpr const char* pattern_names[] = {"chase", "indirect", "stream", "scatter", "log"};

struct Object {
  Pattern pattern;
  std::uint64_t lines;
  std::uint64_t first;  // line
  std::uint64_t next = 0;
  double weight = 1;  // how often it is used
  // Counted.
  std::uint64_t accesses = 0, misses = 0, write_backs = 0;
};

constexpr std::uint64_t page_lines = 64;

class Core {
 public:
  Core(Timing near, Timing far, std::vector<Object>& objects, std::vector<double> near_shares)
      : objects_(objects), near_shares_(std::move(near_shares)), memories_{{near}, {far}} {
    ways_.resize(geometry.lines());
    cache_ = LruCache(geometry, ways_.data());
  }

  Nanoseconds now() const { return now_; }
  Nanoseconds finish() {
    for (const Nanoseconds done : loads_) now_ = std::max(now_, done);
    return now_;
  }
  void reset_time() {
    finish();
    started_ = now_;
  }
  Nanoseconds spent() { return finish() - started_; }

  // One access; returns when its value is there. `after`: not before that.
  Nanoseconds access(std::size_t thing, std::uint64_t line, bool store, Nanoseconds after,
                     bool ahead) {
    now_ += issue;
    // In order: the window's oldest load must be done.
    while (loads_.size() >= window_loads) {
      now_ = std::max(now_, loads_.front());
      loads_.pop_front();
    }
    while (stores_.size() >= store_buffer) {
      now_ = std::max(now_, stores_.front());
      stores_.pop_front();
    }
    Object& object = objects_[thing];
    ++object.accesses;
    const auto found = cache_.access(object.first + line, static_cast<std::uint16_t>(thing), store);
    const Nanoseconds begin = std::max(now_, after);
    Nanoseconds done = begin + hit;
    if (found.evicted.dirty()) write_back(found.evicted);
    if (!found.hit) {
      ++object.misses;
      done = missed(thing, line, ahead ? begin - fetched_ahead : begin, ahead);
    }
    done = std::max(done, begin + hit);
    (store ? stores_ : loads_).push_back(done);
    return done;
  }

 private:
  static constexpr CacheGeometry geometry{2048, 16};
  static constexpr Nanoseconds issue = 1.0;
  static constexpr Nanoseconds hit = 4.0;
  static constexpr std::size_t window_loads = 48;
  static constexpr std::size_t store_buffer = 56;
  static constexpr std::size_t miss_buffers = 12;
  static constexpr Nanoseconds fetched_ahead = 120.0;

  // Of a line as the cache numbers it; pages are distributed by a hash of their number.
  Memory& memory_of(std::size_t thing, std::uint64_t line) {
    const std::uint64_t hash = line / page_lines * 0x9E3779B97F4A7C15ULL;
    const double dice = static_cast<double>(hash >> 40U) / static_cast<double>(1U << 24U);
    return memories_[dice < near_shares_[thing] ? 0 : 1];
  }
  void write_back(LineWord evicted) {
    ++objects_[evicted.owner()].write_backs;
    memory_of(evicted.owner(), evicted.line()).write_back(now_);
  }
  Nanoseconds missed(std::size_t thing, std::uint64_t line, Nanoseconds at, bool ahead) {
    if (!ahead) {
      while (!buffers_.empty() && buffers_.front() <= at) buffers_.pop_front();
      if (buffers_.size() >= miss_buffers) {
        at = std::max(at, buffers_.front());
        buffers_.pop_front();
      }
    }
    const Nanoseconds done = memory_of(thing, objects_[thing].first + line).fetch(at);
    if (!ahead) buffers_.insert(std::upper_bound(buffers_.begin(), buffers_.end(), done), done);
    return done;
  }

  std::vector<Object>& objects_;
  std::vector<double> near_shares_;
  Memory memories_[2];
  std::vector<LineWord> ways_;
  LruCache cache_;
  std::deque<Nanoseconds> loads_;
  std::deque<Nanoseconds> stores_;
  std::deque<Nanoseconds> buffers_;
  Nanoseconds now_ = 0, started_ = 0;
};

constexpr unsigned burst = 48;

void use(Core& core, std::vector<Object>& objects, std::size_t thing, std::mt19937_64& dice,
         std::vector<Nanoseconds>& chains) {
  Object& object = objects[thing];
  for (unsigned i = 0; i < burst; ++i) {
    switch (object.pattern) {
      case Pattern::chase:
        chains[thing] = core.access(thing, dice() % object.lines, false, chains[thing], false);
        break;
      case Pattern::gather:
        core.access(thing, dice() % object.lines, false, 0, false);
        break;
      case Pattern::scatter:
        core.access(thing, dice() % object.lines, true, 0, false);
        break;
      case Pattern::stream:
      case Pattern::log:
        core.access(thing, object.next, object.pattern == Pattern::log, 0, true);
        object.next = (object.next + 1) % object.lines;
        break;
    }
  }
}

std::vector<Object> program(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::uniform_real_distribution<double> even(0, 1);
  std::vector<Object> objects(6 + dice() % 7);
  std::uint64_t first = 0;
  for (Object& object : objects) {
    object.pattern = static_cast<Pattern>(dice() % 5);
    object.lines = static_cast<std::uint64_t>(std::exp2(10 + 8 * even(dice)));
    object.first = first;
    object.weight = std::exp2(5 * even(dice));
    first += (object.lines + page_lines) / page_lines * page_lines;
  }
  return objects;
}

constexpr unsigned warm_bursts = 6000, timed_bursts = 16000;

Nanoseconds run(Timing near, Timing far, std::vector<Object>& objects,
                const std::vector<double>& shares, std::uint64_t order) {
  Core core(near, far, objects, shares);
  std::mt19937_64 dice(order);
  std::vector<double> weights;
  for (const Object& object : objects) weights.push_back(object.weight);
  std::discrete_distribution<std::size_t> pick(weights.begin(), weights.end());
  std::vector<Nanoseconds> chains(objects.size(), 0);
  for (unsigned i = 0; i < warm_bursts; ++i) use(core, objects, pick(dice), dice, chains);
  core.reset_time();
  for (Object& object : objects) object.accesses = object.misses = object.write_backs = 0;
  for (unsigned i = 0; i < timed_bursts; ++i) use(core, objects, pick(dice), dice, chains);
  return core.spent();
}

double number() {
  double value = 0;
  if (std::scanf("%lf", &value) != 1) std::exit(2);
  return value;
}

Timing timing() {
  Timing found;
  found.latency = number();
  found.read = number();
  found.write = number();
  return found;
}

constexpr std::uint64_t micro_lines = 1U << 20U;  // 64 MiB, 32 times the cache
constexpr unsigned micro_accesses = 400000;

void micro(Timing near, const std::string& mode) {
  const unsigned chains = mode == "chains" ? static_cast<unsigned>(number()) : 1;
  std::vector<Object> objects{{Pattern::chase, micro_lines, 0}};
  Core core(near, near, objects, {1.0});
  std::mt19937_64 dice(1);
  std::vector<Nanoseconds> last(chains, 0);
  for (unsigned i = 0; i < 2 * micro_accesses; ++i) {
    if (i == micro_accesses) core.reset_time();
    if (mode == "chains") {
      auto& chain = last[i % chains];
      chain = core.access(0, dice() % micro_lines, false, chain, false);
    } else {
      core.access(0, i % micro_lines, mode == "write", 0, true);
    }
  }
  std::printf("%.6f\n", core.spent() / micro_accesses);
}

}  // namespace

int main() {
  const Timing near = timing(), far = timing();
  char mode[16] = "";
  if (std::scanf("%15s", mode) != 1) return 2;
  if (std::string(mode) != "program") {
    micro(near, mode);
    return 0;
  }
  const auto seed = static_cast<std::uint64_t>(number()),
             order = static_cast<std::uint64_t>(number());
  const auto count = static_cast<unsigned>(number());
  std::vector<Object> objects = program(seed);
  const Nanoseconds all_near =
      run(near, far, objects, std::vector<double>(objects.size(), 1.0), order);
  std::printf("%.3f %zu\n", all_near, objects.size());
  for (const Object& object : objects) {
    std::printf("%s %llu %llu %llu %llu\n", pattern_names[static_cast<int>(object.pattern)],
                static_cast<unsigned long long>(object.lines * 64),
                static_cast<unsigned long long>(object.accesses),
                static_cast<unsigned long long>(object.misses),
                static_cast<unsigned long long>(object.write_backs));
  }
  for (unsigned i = 0; i < count; ++i) {
    std::vector<double> shares;
    for (std::size_t j = 0; j < objects.size(); ++j) shares.push_back(number());
    std::vector<Object> again = program(seed);
    std::printf("%.3f\n", run(near, far, again, shares, order));
  }
  return 0;
}
