#include "sim/window/window.hpp"

#include <algorithm>

#include "sim/window/memory_side.hpp"
#include "sim/window/private_cache.hpp"

namespace nearfar::sim {

namespace {

constexpr double not_counted = 0.1;

// What was last retired or drained, as many back as a buffer is long.
class Past {
 public:
  explicit Past(std::uint32_t length) : times_(std::max(length, 1u), 0.0) {}
  // The time pushed `length` pushes ago.
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
        arrivals_(arrivals) {}

  void run(const Burst& burst, const Served* served, Windowed& result) {
    const auto counted_from =
        static_cast<std::size_t>(not_counted * static_cast<double>(burst.accesses.size()));
    std::size_t access = 0;
    std::uint32_t instruction = 0;
    Cycles began = -1;
    std::uint32_t began_at = 0;
    stored_.assign(burst.accesses.size(), 0);
    for (std::size_t i = 0; i < burst.blocks.size(); ++i) {
      const Block& block = trace_.blocks[burst.blocks[i]];
      for (std::uint32_t row = block.first; row < block.first + block.count; ++row, ++instruction) {
        const std::uint32_t entries = trace_.code.computing[row] != 0 ? core_.computing : 1;
        enter(entries);
        Cycles done = 0;
        const Cycles inputs = ready(trace_.code.uses, row);
        Cycles loaded = 0;
        std::size_t store = none;
        for (; access < burst.accesses.size() && burst.accesses[access].instruction == instruction;
             ++access) {
          const Access& one = burst.accesses[access];
          if (access == counted_from) {
            began = retire_;
            began_at = instruction;
            counting_ = true;
          }
          const Cycles asked = ready(trace_.code.address, row);
          if (one.store) {
            store = access;
          } else if (one.stored_by != 0) {
            const Cycles there = std::max(asked, stored_[one.stored_by - 1]);
            loaded = std::max(loaded, there + core_.first_level);
          } else {
            loaded = std::max(loaded, arrive(one.line, served[access], asked, result));
          }
        }
        done = std::max(inputs, std::max(loaded, ready(trace_.code.address, row))) + computed(row);
        for (std::uint32_t d = trace_.code.defs.begins[row]; d < trace_.code.defs.begins[row + 1];
             ++d) {
          registers_[trace_.code.defs.values[d]] = done;
        }
        leave(done, entries);
        if (store != none) {
          stored_[store] = done;
          drain(burst.accesses[store].line, served[store], result);
        }
        const bool last = row + 1 == block.first + block.count;
        if (last && burst.mispredicted[i]) {
          fetch_from_ = std::max(fetch_from_, done + core_.mispredicted);
          if (counting_) ++result.mispredictions;
        }
      }
    }
    if (began >= 0) {
      result.cycles += retire_ - began;
      result.instructions += instruction - began_at;
    }
    for (const Access& one : burst.accesses) arrivals_[one.line] = unknown;
  }

  static constexpr Cycles unknown = -1;

 private:
  static constexpr std::size_t none = SIZE_MAX;

  Cycles computed(std::uint32_t row) const {
    const Cycles cycles = trace_.code.cycles[row];
    return cycles > 1 ? 1 + core_.arithmetic * (cycles - 1) : cycles;
  }

  void enter(std::uint32_t entries) {
    entered_ = std::max({entered_ + entries / core_.width, retired_.oldest(), fetch_from_});
  }

  void leave(Cycles done, std::uint32_t entries) {
    retire_ = std::max(retire_ + entries / core_.width, done);
    for (std::uint32_t i = 0; i < entries; ++i) retired_.push(retire_);
  }

  Cycles ready(const RegisterLists& lists, std::uint32_t row) const {
    Cycles at = entered_ + 1;
    for (std::uint32_t i = lists.begins[row]; i < lists.begins[row + 1]; ++i) {
      at = std::max(at, registers_[lists.values[i]]);
    }
    return at;
  }

  // A store leaves the window at once and waits for its line in the store buffer; where that is
  // full, nothing enters. Stores to the line of the store before take no room of their own.
  void drain(std::uint32_t line, Served from, Windowed& result) {
    if (line == drained_line_) return;
    drained_line_ = line;
    entered_ = std::max(entered_, drained_.oldest());
    const Cycles there = arrive(line, from, retire_, result) - core_.first_level;
    drain_ = std::max(drain_, there);
    drained_.push(drain_);
  }

  Cycles arrive(std::uint32_t line, Served from, Cycles asked, Windowed& result) {
    const bool first_level = cache_.touch(line);
    Cycles& there = arrivals_[line];
    if (there != unknown) {
      const Cycles hit = asked + (first_level ? core_.first_level : core_.second_level);
      return std::max(hit, there);
    }
    if (counting_) ++result.served[static_cast<std::size_t>(from)];
    switch (from) {
      case Served::private_cache:
      case Served::last_level:
        there = asked + (from == Served::last_level ? core_.last_level : core_.second_level);
        note(line, asked);
        break;
      case Served::near:
        there = fetch(near_, line, asked, result);
        break;
      case Served::far:
        there = fetch(far_, line, asked, result);
        break;
    }
    return there;
  }

  // A stream goes on over lines that a cache has.
  void note(std::uint32_t line, Cycles asked) {
    Streams::Stream& stream = streams_.of(line);
    stream.asked[stream.length % stream.asked.size()] = asked;
  }

  Cycles fetch(MemorySide& memory, std::uint32_t line, Cycles asked, Windowed& result) {
    Streams::Stream& stream = streams_.of(line);
    const bool follows = stream.length >= Streams::followed_from;
    Cycles there = 0;
    if (!follows || !memory.has_prefetcher()) {
      there = memory.arrives(asked, follows);
    } else {
      // It was asked for when the line `depth` before it was used, or when the stream was known.
      const std::uint32_t back = std::min(memory.depth(), stream.length - 2);
      const Cycles ahead = stream.asked[(stream.length - back) % stream.asked.size()];
      there = memory.arrives_in_stream(std::min(ahead, asked), stream.arrived);
      there = std::max(there, asked + core_.second_level);
      if (counting_) ++result.prefetched;
    }
    stream.asked[stream.length % stream.asked.size()] = asked;
    stream.arrived = there;
    return there;
  }

  const Trace& trace_;
  const Core& core_;
  MemorySide near_;
  MemorySide far_;
  Past retired_;
  Past drained_;
  std::vector<Cycles> stored_;     // by access, when the value is there
  std::vector<Cycles>& arrivals_;  // by line, when it was there; unknown: not touched
  std::array<Cycles, most_registers> registers_{};
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

Windowed run_window(const Trace& trace, const std::vector<Served>& served, const Core& core,
                    const Medium& near, const Medium& far) {
  Windowed result;
  std::size_t begin = 0;
  std::vector<Cycles> arrivals(trace.lines, Simulation::unknown);
  for (const Burst& burst : trace.bursts) {
    Simulation(trace, core, near, far, arrivals).run(burst, served.data() + begin, result);
    begin += burst.accesses.size();
  }
  return result;
}

}  // namespace nearfar::sim
