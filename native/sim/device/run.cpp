#include "sim/device/run.hpp"

#include <utility>

#include "sim/device/dispatch.hpp"

namespace nearfar::sim {
namespace {

template <typename Vector>
class Runner {
 public:
  Runner(Memory& memory, const Pattern& pattern, const Run& run)
      : memory_(memory), visits_(pattern), page_(page_of(pattern)), run_(run) {
    result_.read.resize(memory.levels());
    result_.written.resize(memory.levels() + 1);
  }

  RunResult operator()() {
    std::uint64_t index = run_.first;
    for (const std::uint64_t end = index + run_.warm_up; index < end; ++index) access(index);
    reset_counts();
    if (run_.each) result_.each_ns.reserve(run_.accesses);
    for (std::uint64_t i = 0; i < run_.accesses; ++i, ++index) {
      const Nanoseconds before = memory_.now();
      access(index);
      if (fences() && (i + 1) % run_.fence_every == 0) memory_.rest(run_.fence);
      const Nanoseconds took = memory_.now() - before;
      result_.elapsed = result_.elapsed + took;
      if (run_.each) result_.each_ns.push_back(static_cast<float>(took.count));
      memory_.rest(run_.rest);
    }
    result_.media_writes = memory_.media_writes() - media_writes_;
    result_.wear_stalls = memory_.wear_stalls() - wear_stalls_;
    result_.refresh_stalls = memory_.refresh_stalls() - refresh_stalls_;
    return std::move(result_);
  }

 private:
  static std::uint64_t page_of(const Pattern& pattern) {
    return pattern.page.count == 0 ? std::uint64_t{2} << 20U : pattern.page.count;
  }
  [[nodiscard]] bool fences() const {
    return run_.operation == Operation::persist || run_.operation == Operation::read_after_write;
  }
  void reset_counts() {
    result_.read.assign(result_.read.size(), 0);
    result_.written.assign(result_.written.size(), 0);
    result_.lines = result_.walks = 0;
    media_writes_ = memory_.media_writes();
    wear_stalls_ = memory_.wear_stalls();
    refresh_stalls_ = memory_.refresh_stalls();
  }

  void access(std::uint64_t index) {
    const std::uint64_t first = visits_.address(index);
    const std::uint64_t lines = visits_.lines_per_access();
    if (run_.operation == Operation::load || run_.operation == Operation::store) {
      for (std::uint64_t i = 0; i < lines; ++i) load(first + i * cache_line.count);
    } else {
      for (std::uint64_t i = 0; i < lines; ++i) persist(first, i);
      if (run_.operation == Operation::read_after_write) {
        for (std::uint64_t i = 0; i < lines; ++i) load(first + i * cache_line.count);
      }
    }
    result_.lines += lines;
  }
  void load(std::uint64_t address) {
    if (!memory_.template translate<Vector>(static_cast<std::uint32_t>(address / page_))) {
      ++result_.walks;
    }
    const std::uint64_t at = visits_.frame(address);
    const unsigned level = run_.operation == Operation::store ? memory_.template store<Vector>(at)
                                                              : memory_.template load<Vector>(at);
    ++result_.read[level];
  }
  void persist(std::uint64_t first, std::uint64_t line) {
    const std::uint64_t at = visits_.frame(first + line * cache_line.count);
    if (line * cache_line.count % run_.wear_unit.count == 0) memory_.begin_write(at);
    ++result_.written[memory_.template write_through<Vector>(at)];
  }

  Memory& memory_;
  Visits visits_;
  std::uint64_t page_;
  Run run_;
  RunResult result_;
  std::uint64_t media_writes_ = 0;
  std::uint64_t wear_stalls_ = 0;
  std::uint64_t refresh_stalls_ = 0;
};

struct RunJob {
  template <typename Vector>
  static RunResult with(Memory& memory, const Pattern& pattern, const Run& run) {
    return Runner<Vector>(memory, pattern, run)();
  }
};

}  // namespace

RunResult run(Memory& memory, const Pattern& pattern, const Run& run, Isa isa) {
  return dispatch<RunJob>(isa, memory, pattern, run);
}

}  // namespace nearfar::sim
