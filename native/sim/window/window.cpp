#include "sim/window/window.hpp"

#include <algorithm>

#include "sim/window/memory_side.hpp"
#include "sim/window/private_cache.hpp"

namespace nearfar::sim {

namespace {

constexpr double warm_up_share = 0.1;

// Times of the last retired instructions or drained stores, as many as the buffer's length.
class History {
 public:
  explicit History(std::uint32_t length) : times_(std::max(length, 1u), 0.0) {}
  // Time that was pushed `length` pushes ago.
  Cycles oldest() const { return times_[next_]; }
  void push(Cycles time) {
    times_[next_] = time;
    next_ = next_ + 1 == times_.size() ? 0 : next_ + 1;
  }

 private:
  std::vector<Cycles> times_;
  std::size_t next_ = 0;
};

class Simulation {
 public:
  Simulation(const Trace& trace, const Core& core, const Medium& near, const Medium& far,
             std::vector<Cycles>& arrivals)
      : trace_(trace),
        core_(core),
        near_(near, core.miss_buffers),
        far_(far, core.miss_buffers),
        retired_(core.window),
        drained_(core.store_buffer),
        takes_{1 / core.width, core.computing / core.width},
        arrivals_(arrivals) {}

  void run(const Burst& burst, const Served* served, WindowResult& result) {
    const auto counted_from =
        static_cast<std::size_t>(warm_up_share * static_cast<double>(burst.accesses.size()));
    std::size_t access = 0;
    std::uint32_t instruction = 0;
    Cycles begin_cycle = -1;
    std::uint32_t begin_instruction = 0;
    stored_.assign(burst.accesses.size(), 0);
    for (std::size_t i = 0; i < burst.blocks.size(); ++i) {
      const Block& block = trace_.blocks[burst.blocks[i]];
      for (std::uint32_t row = block.first; row < block.first + block.count; ++row, ++instruction) {
        const bool computing = trace_.code.computing[row] != 0;
        enter(computing);
        const Cycles requested = ready(trace_.code.address, row);
        const Cycles inputs = std::max(requested, ready(trace_.code.uses, row));
        Cycles loaded = 0;
        std::size_t store = none;
        for (; access < burst.accesses.size() && burst.accesses[access].instruction == instruction;
             ++access) {
          const Access& memory_access = burst.accesses[access];
          if (access == counted_from) {
            begin_cycle = retire_;
            begin_instruction = instruction;
            counting_ = true;
          }
          if (memory_access.store) {
            store = access;
          } else if (memory_access.stored_by != 0) {
            const Cycles arrival = std::max(requested, stored_[memory_access.stored_by - 1]);
            loaded = std::max(loaded, arrival + core_.first_level);
          } else {
            loaded =
                std::max(loaded, arrive(memory_access.line, served[access], requested, result));
          }
        }
        const Cycles completed = std::max(inputs, loaded) + compute_cycles(row);
        for (std::uint32_t d = trace_.code.defs.begins[row]; d < trace_.code.defs.begins[row + 1];
             ++d) {
          registers_[trace_.code.defs.values[d]] = completed;
        }
        leave(completed, computing);
        if (store != none) {
          stored_[store] = completed;
          drain(burst.accesses[store].line, served[store], result);
        }
        const bool last = row + 1 == block.first + block.count;
        if (last && burst.mispredicted[i]) {
          fetch_from_ = std::max(fetch_from_, completed + core_.mispredicted);
          if (counting_) ++result.mispredictions;
        }
      }
    }
    if (begin_cycle >= 0) {
      result.cycles += retire_ - begin_cycle;
      result.instructions += instruction - begin_instruction;
    }
    for (const Access& touched : burst.accesses) arrivals_[touched.line] = unknown;
  }

  static constexpr Cycles unknown = -1;

 private:
  static constexpr std::size_t none = SIZE_MAX;

  Cycles compute_cycles(std::uint32_t row) const {
    const Cycles cycles = trace_.code.cycles[row];
    return cycles > 1 ? 1 + core_.arithmetic * (cycles - 1) : cycles;
  }

  void enter(bool computing) {
    entered_ = std::max({entered_ + takes_[computing], retired_.oldest(), fetch_from_});
  }

  void leave(Cycles completed, bool computing) {
    retire_ = std::max(retire_ + takes_[computing], completed);
    const std::uint32_t entries = computing ? core_.computing : 1;
    for (std::uint32_t i = 0; i < entries; ++i) retired_.push(retire_);
  }

  Cycles ready(const RegisterLists& lists, std::uint32_t row) const {
    Cycles at = entered_ + 1;
    for (std::uint32_t i = lists.begins[row]; i < lists.begins[row + 1]; ++i) {
      at = std::max(at, registers_[lists.values[i]]);
    }
    return at;
  }

  // A store retires at once and waits for its line in the store buffer; a full buffer stops the
  // entry of instructions. Consecutive stores to a line share one entry.
  void drain(std::uint32_t line, Served from, WindowResult& result) {
    if (line == drained_line_) return;
    drained_line_ = line;
    entered_ = std::max(entered_, drained_.oldest());
    const Cycles arrival = arrive(line, from, retire_, result) - core_.first_level;
    drain_ = std::max(drain_, arrival);
    drained_.push(drain_);
  }

  Cycles arrive(std::uint32_t line, Served from, Cycles requested, WindowResult& result) {
    const bool first_level = cache_.touch(line);
    Cycles& arrival = arrivals_[line];
    if (arrival != unknown) {
      const Cycles hit = requested + (first_level ? core_.first_level : core_.second_level);
      return std::max(hit, arrival);
    }
    if (counting_) ++result.served[static_cast<std::size_t>(from)];
    switch (from) {
      case Served::private_cache:
      case Served::last_level:
        arrival = requested + (from == Served::last_level ? core_.last_level : core_.second_level);
        record_in_stream(line, requested);
        break;
      case Served::near:
        arrival = fetch(near_, line, requested, result);
        break;
      case Served::far:
        arrival = fetch(far_, line, requested, result);
        break;
    }
    return arrival;
  }

  // A stream continues over cached lines.
  void record_in_stream(std::uint32_t line, Cycles requested) {
    Streams::Stream& stream = streams_.of(line);
    stream.requested[stream.length % stream.requested.size()] = requested;
  }

  Cycles fetch(MemorySide& memory, std::uint32_t line, Cycles requested, WindowResult& result) {
    Streams::Stream& stream = streams_.of(line);
    const bool follows = stream.length >= Streams::followed_from;
    Cycles arrival = 0;
    if (!follows || !memory.has_prefetcher()) {
      arrival = memory.arrives(requested, follows);
    } else {
      // The line was prefetched when the line `depth` before it was used, or when the stream was
      // detected.
      const std::uint32_t back = std::min(memory.depth(), stream.length - 2);
      const Cycles prefetched = stream.requested[(stream.length - back) % stream.requested.size()];
      arrival = memory.arrives_in_stream(std::min(prefetched, requested), stream.arrived);
      arrival = std::max(arrival, requested + core_.second_level);
      if (counting_) ++result.prefetched;
    }
    stream.requested[stream.length % stream.requested.size()] = requested;
    stream.arrived = arrival;
    return arrival;
  }

  const Trace& trace_;
  const Core& core_;
  MemorySide near_;
  MemorySide far_;
  History retired_;
  History drained_;
  std::array<Cycles, 2> takes_;    // to enter, or to retire: a plain instruction, a computing one
  std::vector<Cycles> stored_;     // per store: when its value is ready
  std::vector<Cycles>& arrivals_;  // per line: its arrival; unknown: not touched
  std::array<Cycles, max_registers> registers_{};
  FirstLevel cache_;
  Streams streams_;
  Cycles entered_ = 0;
  Cycles retire_ = 0;
  Cycles drain_ = 0;
  std::uint32_t drained_line_ = UINT32_MAX;
  Cycles fetch_from_ = 0;
  bool counting_ = false;
};

}  // namespace

WindowResult run_window(const Trace& trace, const std::vector<Served>& served, const Core& core,
                        const Medium& near, const Medium& far) {
  WindowResult result;
  std::size_t begin = 0;
  std::vector<Cycles> arrivals(trace.lines, Simulation::unknown);
  for (const Burst& burst : trace.bursts) {
    Simulation(trace, core, near, far, arrivals).run(burst, served.data() + begin, result);
    begin += burst.accesses.size();
  }
  return result;
}

}  // namespace nearfar::sim
