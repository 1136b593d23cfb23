// Runs a mix of look-ups and updates on one set, for the kind `intset`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "bench/errors.hpp"
#include "bench/intset/requests.hpp"
#include "bench/meter.hpp"

namespace nearfar::bench {

struct Mix {
  std::uint64_t initial;
  std::uint64_t range;
  double updates_percent;
  bool alternate;
  Nanoseconds length;
  std::uint64_t operations;  // per thread; 0: as many as `length` allows
  unsigned threads;
  std::uint64_t seed;
};

template <typename Set>
class SetRun {
 public:
  explicit SetRun(const Mix& mix)
      : mix_(mix), locks_(std::make_unique<std::shared_mutex[]>(Set::locks)) {}

  // Inserts `initial` different keys, drawn uniformly.
  void fill(Set& set) {
    SplitMix draw(mix_.seed ^ 0x66696c6cULL);
    for (std::uint64_t inserted = 0; inserted < mix_.initial;) {
      const auto key = static_cast<std::int64_t>(((draw() >> 32U) * mix_.range) >> 32U);
      if (!set.insert(key, draw)) continue;
      ++inserted;
      filled_.push_back(key);
      expected_ += Tally::hash(key);
    }
    size_ = mix_.initial;
  }

  // Looks up enough keys to warm the caches; changes nothing.
  void warm(const Set& set) const {
    constexpr std::uint64_t max_lookups = 100'000;
    SplitMix draw(mix_.seed ^ 0x7761726dULL);
    std::uint64_t hits = 0;
    for (std::uint64_t i = 0;
         i < std::min(mix_.range, max_lookups) && i < max_steps / estimated_steps(); ++i) {
      hits += set.contains(static_cast<std::int64_t>(draw() % mix_.range)) ? 1 : 0;
    }
    asm volatile("" ::"r"(hits));
  }

  void run(Set& set, Meter& meter) {
    tallies_.assign(mix_.threads, {});
    const auto body = [&](Lane& lane) { serve(set, lane); };
    if (mix_.operations > 0) {
      meter.timed(mix_.threads, body);
    } else {
      meter.timed_for(mix_.length, mix_.threads, body);
    }
    Tally all;
    for (const Tally& tally : tallies_) {
      all.requests += tally.requests;
      all.found += tally.found;
      all.inserted += tally.inserted;
      all.removed += tally.removed;
      expected_ += tally.content;
    }
    size_ += all.inserted - all.removed;
    total_ = all;
    meter.note("changes_share", all.requests == 0
                                    ? 0.0
                                    : static_cast<double>(all.inserted + all.removed) /
                                          static_cast<double>(all.requests));
  }

  // Verifies structure, size and content; with one thread, every answer too.
  void verify(const Set& set) const {
    if (const std::string wrong = set.check(mix_.range); !wrong.empty()) {
      throw WrongContent("the " + std::string(Set::name) + " is broken: " + wrong);
    }
    std::uint64_t size = 0;
    std::uint64_t content = 0;
    set.for_each([&](std::int64_t key) {
      ++size;
      content += Tally::hash(key);
    });
    if (size != size_ || content != expected_) {
      throw WrongContent("the " + std::string(Set::name) + " holds " + std::to_string(size) +
                         " keys, expected the " + std::to_string(size_) +
                         " that were inserted and not removed");
    }
    if (mix_.threads == 1) replay(set);
  }

 private:
  // A list of n keys takes n/4 steps on average with keys drawn from 2n: keeps its warm-up short.
  static constexpr std::uint64_t max_steps = 20'000'000;
  [[nodiscard]] std::uint64_t estimated_steps() const {
    return Set::locks == 1 && std::string(Set::name) == "list" ? mix_.initial / 2 + 1 : 1;
  }

  void serve(Set& set, Lane& lane) {
    Tally tally;
    Requests requests = requests_of(lane.index);
    SplitMix draw(mix_.seed + 0x6c6576656c73ULL * (lane.index + 1));
    while (mix_.operations > 0 ? tally.requests < mix_.operations
                               : !lane.stop.load(std::memory_order_relaxed)) {
      const Request request = requests.next();
      lane.operation([&] {
        const bool succeeded =
            mix_.threads == 1 ? apply(set, request, draw) : locked(set, request, draw);
        tally.add(request, succeeded);
        requests.record_outcome(request.verb, succeeded);
      });
    }
    tallies_[lane.index] = tally;
  }

  // libpmemobj's transactions do not isolate threads; volatile sets take the same locks.
  bool locked(Set& set, Request request, SplitMix& draw) {
    std::shared_mutex& mutex = locks_[Set::lock_of(request.key)];
    if (request.verb == Verb::look_up) {
      const std::shared_lock lock(mutex);
      return apply(set, request, draw);
    }
    const std::unique_lock lock(mutex);
    return apply(set, request, draw);
  }

  [[nodiscard]] Requests requests_of(unsigned lane) const {
    return {SplitMix::mix(mix_.seed) + lane, mix_.range, mix_.updates_percent, mix_.alternate};
  }

  // Replays a single thread's requests on a plain array.
  void replay(const Set& set) const {
    std::vector<bool> present(mix_.range);
    for (const std::int64_t key : filled_) present[static_cast<std::size_t>(key)] = true;
    Requests requests = requests_of(0);
    Tally model;
    for (std::uint64_t i = 0; i < total_.requests; ++i) {
      const Request request = requests.next();
      const auto index = static_cast<std::size_t>(request.key);
      const bool succeeded = request.verb == Verb::insert ? !present[index] : present[index];
      if (succeeded && request.verb != Verb::look_up) present[index] = request.verb == Verb::insert;
      model.add(request, succeeded);
      requests.record_outcome(request.verb, succeeded);
    }
    if (model.found != total_.found || model.inserted != total_.inserted ||
        model.removed != total_.removed) {
      throw WrongContent("the " + std::string(Set::name) +
                         " answered differently from a plain array");
    }
    set.for_each([&](std::int64_t key) { present[static_cast<std::size_t>(key)].flip(); });
    for (std::size_t key = 0; key < present.size(); ++key) {
      if (present[key]) {
        throw WrongContent("key " + std::to_string(key) + " is wrongly present or missing in the " +
                           std::string(Set::name));
      }
    }
  }

  Mix mix_;
  std::unique_ptr<std::shared_mutex[]> locks_;
  std::vector<Tally> tallies_;
  std::vector<std::int64_t> filled_;
  Tally total_;
  std::uint64_t size_ = 0;
  std::uint64_t expected_ = 0;
};

}  // namespace nearfar::bench
