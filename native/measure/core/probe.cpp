#include "measure/core/probe.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include "measure/core/code.hpp"
#include "measure/pinned.hpp"
#include "measure/ticks.hpp"
#include "measure/timer.hpp"

namespace nearfar::measure {
namespace {

constexpr std::size_t max_chains = 64;
constexpr unsigned rounds = 400;       // per trial: some 0.1 ms
constexpr std::uint64_t reads = 1000;  // per trial of a chase
constexpr unsigned words = 128;        // of 64 branches each
constexpr unsigned unrolled = 64;
constexpr unsigned independent = 240;
constexpr double pause_ns = 2000;  // for prefetched lines to arrive

// Links the given lines of `base` into a cycle.
void link(std::byte* base, const std::vector<std::uint32_t>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t next = lines[i + 1 == lines.size() ? 0 : i + 1];
    *reinterpret_cast<void**>(base + lines[i] * cache_line.count) = base + next * cache_line.count;
  }
}

void touch(const void* address) {
  static_cast<void>(*static_cast<const volatile std::uint64_t*>(address));
}

template <class Run>
float time_per(std::uint64_t count, Run run) {
  const double before = os::thread_cpu_time().count;
  run();
  const double took = os::thread_cpu_time().count - before - timer().overhead.count;
  return static_cast<float>(took / static_cast<double>(count));
}

// Measures every point once per trial; each trial begins at a different point.
template <class Run>
Trials in_turn(std::size_t points, unsigned trials, Run run) {
  Trials times(points * trials);
  for (unsigned trial = 0; trial < trials; ++trial) {
    for (std::size_t i = 0; i < points; ++i) {
      const std::size_t point = (i + trial * points / trials) % points;
      times[point * trials + trial] = run(point);
    }
  }
  return times;
}

}  // namespace

CoreProbe::CoreProbe(Bytes chain_bytes, unsigned cpu, std::uint64_t seed)
    : memory_(Memory::anonymous(chain_bytes, os::Pages::transparent_huge, std::nullopt)),
      cpu_(cpu),
      state_(seed | 1U),
      starts_(max_chains) {
  std::vector<std::uint32_t> order(memory_.lines());
  if (order.size() < 1024 * starts_.size())
    throw std::invalid_argument("the memory is too small for the chains");
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  link(memory_.data(), order);
  // All chains share one cycle; their starts are evenly spaced.
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    starts_[i] = memory_.data() + order[i * (order.size() / starts_.size())] * cache_line.count;
  }
}

Trials CoreProbe::overlap(const std::vector<std::string>& fillers,
                          const std::vector<unsigned>& counts, unsigned trials) {
  std::vector<Code> codes;
  codes.reserve(counts.size());
  for (const unsigned count : counts) codes.push_back(overlap_code(fillers, count));
  const Pinned pinned(cpu_);
  return in_turn(codes.size(), trials, [&](std::size_t i) {
    codes[i].run(starts_.data(), nullptr, 2);  // runs once to fill the instruction caches
    return time_per(rounds, [&] { codes[i].run(starts_.data(), nullptr, rounds); });
  });
}

Trials CoreProbe::chains(const std::vector<unsigned>& counts, unsigned trials) {
  std::vector<Code> codes;
  for (const unsigned count : counts) {
    if (count == 0 || count > starts_.size()) throw std::invalid_argument("chains must be 1 to 64");
    codes.push_back(chains_code(count));
  }
  const Pinned pinned(cpu_);
  return in_turn(codes.size(), trials, [&](std::size_t i) {
    codes[i].run(starts_.data(), nullptr, 2);
    return time_per(rounds, [&] { codes[i].run(starts_.data(), nullptr, rounds); });
  });
}

Trials CoreProbe::throughput(const std::string& filler, unsigned trials) const {
  const Code code = filler_code(filler, independent);
  const Pinned pinned(cpu_);
  return in_turn(1, trials, [&](std::size_t) {
    return time_per(std::uint64_t{independent} * rounds,
                    [&] { code.run(nullptr, nullptr, rounds); });
  });
}

Trials CoreProbe::dependent(const std::string& operation, unsigned trials) const {
  const Code code = dependent_code(operation, unrolled);
  const Pinned pinned(cpu_);
  return in_turn(1, trials, [&](std::size_t) {
    return time_per(std::uint64_t{unrolled} * rounds, [&] { code.run(nullptr, nullptr, rounds); });
  });
}

Trials CoreProbe::branches(unsigned trials) {
  const Code code = branch_code();
  const Pinned pinned(cpu_);
  std::vector<std::uint64_t> bits(words);
  return in_turn(2, trials, [&](std::size_t random_directions) {
    for (std::uint64_t& word : bits) word = random_directions != 0 ? random() : 0;
    return time_per(std::uint64_t{words} * 64, [&] { code.run(nullptr, bits.data(), words); });
  });
}

Trials CoreProbe::after_stream(unsigned length, std::uint64_t stride_bytes, int ahead,
                               bool at_page_end, unsigned trials) {
  // A stream may continue into the next page, but stays within one huge page.
  const std::uint64_t reach = (length + static_cast<unsigned>(std::max(ahead, 0))) * stride_bytes;
  const std::uint64_t region_bytes = os::huge_page.count;
  if (length == 0 || stride_bytes == 0 || reach > region_bytes / 4)
    throw std::invalid_argument("the stream is too long");
  const TickClock& clock = tick_clock();
  const auto pause = static_cast<std::uint64_t>(pause_ns / clock.per_tick.count);
  const std::uint64_t regions = memory_.size().count / region_bytes;
  const Pinned pinned(cpu_);
  return in_turn(1, trials, [&](std::size_t) {
    const std::uint64_t pages = region_bytes / 2 / os::base_page.count;
    std::byte* region = memory_.data() + random() % regions * region_bytes;
    std::byte* first = region + region_bytes / 4 + random() % pages * os::base_page.count;
    if (at_page_end) first -= length * stride_bytes;
    touch(region +
          random() % (region_bytes / 8));  // loads the huge page's translation into the TLB
    for (unsigned i = 0; i < length; ++i) {
      touch(first + i * stride_bytes);
      static_cast<void>(ticks_after());  // serialises the reads
    }
    const std::uint64_t end = ticks_before() + pause;
    while (ticks_before() < end) {
    }
    const std::byte* last =
        first + static_cast<std::int64_t>(length - 1) * static_cast<std::int64_t>(stride_bytes);
    const std::byte* probed = last + ahead * static_cast<std::int64_t>(stride_bytes);
    const std::uint64_t before = ticks_before();
    touch(probed);
    const auto took = static_cast<double>(ticks_after() - before);
    return static_cast<float>(took * clock.per_tick.count - clock.overhead.count);
  });
}

Trials spread_chase(Memory& memory, Bytes step, std::uint64_t count, unsigned cpu,
                    unsigned trials) {
  const std::uint64_t step_lines = step / cache_line;
  if (step_lines == 0 || count < 2 || count * step_lines > memory.lines()) {
    throw std::invalid_argument("the memory is too small");
  }
  memory.forget_links();
  std::mt19937_64 dice(count);
  std::vector<std::uint32_t> lines(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    lines[i] = static_cast<std::uint32_t>(i * step_lines + dice() % step_lines);
  }
  std::shuffle(lines.begin(), lines.end(), dice);
  link(memory.data(), lines);
  const Pinned pinned(cpu);
  void* at = memory.data() + lines.front() * cache_line.count;
  const auto follow = [&](std::uint64_t times) {
    void* next = at;
    for (std::uint64_t i = 0; i < times; ++i) next = *static_cast<void* volatile*>(next);
    at = next;
  };
  return in_turn(1, trials, [&](std::size_t) {
    follow(count);  // warms the caches
    return time_per(reads, [&] { follow(reads); });
  });
}

}  // namespace nearfar::measure
