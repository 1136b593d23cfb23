#include "measure/core_to_core.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/os.hpp"
#include "measure/cycle.hpp"
#include "measure/follow.hpp"
#include "measure/persist.hpp"
#include "measure/threads.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {
namespace {

// Maximum number of chased lines: 32 KiB fit into a first-level cache and stay there.
constexpr std::uint64_t max_lines = 512;
constexpr std::uint64_t min_lines = 64;
constexpr unsigned chases = 21;
constexpr unsigned trips = 2000;
constexpr unsigned batches = 11;

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Which thread acts next, and its action; on a line of its own in ordinary memory.
enum class Turn : std::uint8_t { mine, write_theirs, read_theirs, over };

// Two threads that wait for each other's word in the measured memory, one line each way.
class PingPong {
 public:
  explicit PingPong(Memory& memory) : word_(*reinterpret_cast<std::uint64_t*>(memory.data())) {}
  void play(std::uint64_t first, std::uint64_t count, unsigned odd, const Threads& threads) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const std::uint64_t mine = 2 * i + odd;
      while (word_.load(std::memory_order_acquire) != mine && !threads.stopping()) {
      }
      word_.store(mine + 1, std::memory_order_release);
    }
  }
  void reset() { word_.store(0); }

 private:
  std::atomic_ref<std::uint64_t> word_;
};

}  // namespace

HandOff core_to_core(unsigned cpu_a, unsigned cpu_b, Memory& memory) {
  if (cpu_a == cpu_b) throw std::invalid_argument("core to core needs two different CPUs");
  if (memory.lines() < min_lines) {
    throw std::invalid_argument("core to core needs at least 4 KiB of memory");
  }
  // The chased lines begin behind the ping-pong's word, at a distance equal to their length.
  const std::uint64_t chased_lines = std::min(max_lines, memory.lines() / 2);
  memory.forget_links();
  PingPong ping_pong(memory);
  ping_pong.reset();
  std::byte* base = memory.data() + chased_lines * cache_line.count;
  const auto order = chase_order(chased_lines, {}, true, 1);
  auto line = [&](std::uint64_t i) { return base + order[i % chased_lines] * cache_line.count; };
  for (std::uint64_t i = 0; i < chased_lines; ++i) {
    *reinterpret_cast<std::byte**>(line(i)) = line(i + 1);
  }

  HandOff result;
  std::atomic<Turn> turn{Turn::mine};
  std::atomic<std::uint64_t> sink{0};
  std::atomic<bool> disturbed{false};
  Threads threads;
  auto wait_for = [&](Turn wanted) {
    while (turn.load(std::memory_order_acquire) != wanted && !threads.stopping()) relax();
  };
  threads.start(cpu_a, [&] {
    threads.arrive();
    // Sleeps instead of spinning: the other thread may have started on this core, and pins itself
    // only once it runs.
    threads.sleep_until(2);
    const long switches = os::involuntary_switches();
    const double per_tick = tick_clock().per_tick.count;
    std::vector<double> one_way;
    for (unsigned batch = 0; batch < batches; ++batch) {
      const std::uint64_t before = ticks_before();
      ping_pong.play(std::uint64_t{batch} * trips, trips, 0, threads);
      const auto ticks = static_cast<double>(ticks_after() - before);
      one_way.push_back(ticks * per_tick / trips / 2);
    }
    result.line = {median(one_way)};
    const Flush flush = flushes().clflush;
    for (const Turn theirs : {Turn::write_theirs, Turn::read_theirs}) {
      if (theirs == Turn::read_theirs && flush == nullptr) break;
      std::vector<double> per_line;
      for (unsigned i = 0; i < chases && !threads.stopping(); ++i) {
        turn.store(theirs, std::memory_order_release);
        wait_for(Turn::mine);
        const std::byte* at = line(0);
        const std::uint64_t before = ticks_before();
        for (std::uint64_t k = 0; k < chased_lines; ++k) at = follow(at);
        sink.store(reinterpret_cast<std::uintptr_t>(at), std::memory_order_relaxed);
        const auto ticks = static_cast<double>(ticks_after() - before);
        per_line.push_back(ticks * per_tick / static_cast<double>(chased_lines));
        // Evicts the lines from all caches, so that in the next round only the other core has them.
        if (flush != nullptr) flush(base, chased_lines);
        store_fence();
      }
      if (!per_line.empty()) {
        (theirs == Turn::write_theirs ? result.modified : result.clean) = {median(per_line)};
      }
    }
    turn.store(Turn::over, std::memory_order_release);
    if (os::involuntary_switches() != switches) disturbed = true;
  });
  threads.start(cpu_b, [&] {
    threads.arrive();
    threads.sleep_until(2);
    ping_pong.play(0, std::uint64_t{trips} * batches, 1, threads);
    while (!threads.stopping()) {
      const Turn now = turn.load(std::memory_order_acquire);
      if (now == Turn::over) return;
      if (now == Turn::mine) {
        relax();
        continue;
      }
      std::uint64_t sum = 0;
      for (std::uint64_t k = 0; k < chased_lines; ++k) {
        auto* word = reinterpret_cast<volatile std::uint64_t*>(line(k) + 8);
        if (now == Turn::write_theirs) {
          *word = k;
        } else {
          sum += *word;
        }
      }
      sink.store(sum, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      turn.store(Turn::mine, std::memory_order_release);
    }
  });
  threads.join();
  result.disturbed = disturbed;
  return result;
}

}  // namespace nearfar::measure
