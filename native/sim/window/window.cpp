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
  explicit History(std::uint32_t length)
      : times_(std::max(length, 1u), 0.0), next_(times_.data()), end_(next_ + times_.size()) {}
  // Time that was pushed `length` pushes ago.
  Cycles oldest() const { return *next_; }
  // Lets `oldest` return `time` or later until the next push.
  void delay(Cycles time) { *next_ = later(*next_, time); }
  void push(Cycles time) {
    *next_ = time;
    if (++next_ == end_) next_ = times_.data();
  }

 private:
  std::vector<Cycles> times_;
  Cycles* next_;
  Cycles* end_;
};

// Registers beside those of the code: one that is always ready, and one that nothing reads.
constexpr std::uint16_t ready_register = max_registers;
constexpr std::uint16_t unread_register = max_registers + 1;

// An instruction on this core. Nearly all have at most two registers in each list; the others are
// numbers of Rows::registers: those of the address from `begin` on, then inputs, then results.
struct Row {
  using Two = std::array<std::uint16_t, 2>;
  Two address;
  Two uses;
  Two defs;
  std::uint32_t begin;
  std::uint32_t address_end;
  std::uint32_t uses_end;
  std::uint32_t defs_end;
  std::uint32_t entries;  // of the window
  bool simple;            // no list is longer, and it takes one entry
  Cycles takes;           // to enter, or to retire
  Cycles computes;
};

// The instructions of a trace, each with all that a step needs side by side.
struct Rows {
  Rows(const Code& code, const Core& core) {
    rows.reserve(code.cycles.size());
    for (std::size_t i = 0; i < code.cycles.size(); ++i) {
      const Cycles cycles = code.cycles[i];
      Row row{};
      row.begin = static_cast<std::uint32_t>(registers.size());
      row.address = add(code.address, i, ready_register);
      row.address_end = static_cast<std::uint32_t>(registers.size());
      row.uses = add(code.uses, i, ready_register);
      row.uses_end = static_cast<std::uint32_t>(registers.size());
      row.defs = add(code.defs, i, unread_register);
      row.defs_end = static_cast<std::uint32_t>(registers.size());
      row.entries = code.computing[i] != 0 ? core.computing : 1;
      row.simple = row.begin == row.defs_end && row.entries == 1;
      row.takes = row.entries / core.width;
      row.computes = cycles > 1 ? 1 + core.arithmetic * (cycles - 1) : cycles;
      rows.push_back(row);
    }
  }

  std::vector<Row> rows;
  std::vector<Register> registers;

 private:
  // Returns the first two registers of the row, `none` for each that is missing; adds the others.
  Row::Two add(const RegisterLists& lists, std::size_t row, std::uint16_t none) {
    Row::Two two{none, none};
    for (std::uint32_t i = lists.begins[row]; i < lists.begins[row + 1]; ++i) {
      const std::uint32_t at = i - lists.begins[row];
      if (at < two.size()) {
        two[at] = lists.values[i];
      } else {
        registers.push_back(lists.values[i]);
      }
    }
    return two;
  }
};

class Simulation {
 public:
  Simulation(const Trace& trace, const Rows& rows, const Core& core, const Medium& near,
             const Medium& far, std::vector<Cycles>& arrivals)
      : trace_(trace),
        rows_(rows),
        core_(core),
        near_(near, core.miss_buffers),
        far_(far, core.miss_buffers),
        drained_(core.store_buffer),
        arrivals_(arrivals) {}

  void run(const Burst& burst, const Served* served, WindowResult& result) {
    const Access* const first = burst.accesses.data();
    const Access* const last = first + burst.accesses.size();
    const Access* const counted_from =
        first +
        static_cast<std::size_t>(warm_up_share * static_cast<double>(burst.accesses.size()));
    const auto instruction_of = [last](const Access* at) {
      return at < last ? at->instruction : UINT32_MAX;
    };
    const Access* access = first;
    std::uint32_t until_access = instruction_of(access);  // instructions before it
    Cycles begin_cycle = -1;
    std::uint32_t begin_instruction = 0;
    std::uint32_t instructions = 0;
    stored_.assign(burst.accesses.size(), 0);
    Times times;
    History retired(core_.window);
    const Block* const blocks = trace_.blocks.data();
    const Row* const rows = rows_.rows.data();
    const std::uint8_t* mispredicted = burst.mispredicted.data();
    for (const std::uint32_t number : burst.blocks) {
      const Block& block = blocks[number];
      const Row* row = rows + block.first;
      instructions += block.count;
      times.completed = 0;
      for (std::uint32_t left = block.count;; --left, ++row) {
        // Those before the next access, in a loop whose times stay in registers: it calls nothing.
        const std::uint32_t before = std::min(left, until_access);
        Times passed = times;
        for (const Row* const stop = row + before; row < stop; ++row) {
          finish(*row, inputs(*row, enter(*row, passed, retired)), passed, retired);
        }
        times = passed;
        left -= before;
        until_access -= before;
        if (left == 0) break;
        const Cycles requested = enter(*row, times, retired);
        Cycles start = inputs(*row, requested);
        const Access* store = nullptr;
        const std::uint32_t instruction = access->instruction;
        do {
          if (access == counted_from) {
            begin_cycle = times.retire;
            begin_instruction = instruction;
            counting_ = true;
          }
          if (access->store) {
            store = access;
          } else if (access->stored_by != 0) {
            const Cycles arrival = later(requested, stored_[access->stored_by - 1]);
            start = later(start, arrival + core_.first_level);
          } else {
            start = later(start, arrive(access->line, served[access - first], requested, result));
          }
          ++access;
        } while (instruction_of(access) == instruction);
        until_access = instruction_of(access) - instruction - 1;
        finish(*row, start, times, retired);
        if (store != nullptr) {
          stored_[store - first] = times.completed;
          times.entered =
              drain(store->line, served[store - first], times.entered, times.retire, result);
        }
      }
      if (*mispredicted++ != 0) {
        retired.delay(times.completed + core_.mispredicted);
        if (counting_) ++result.mispredictions;
      }
    }
    if (begin_cycle >= 0) {
      result.cycles += times.retire - begin_cycle;
      result.instructions += instructions - begin_instruction;
    }
    for (const Access& touched : burst.accesses) arrivals_[touched.line] = unknown;
  }

  static constexpr Cycles unknown = -1;

 private:
  // Times of the newest instruction.
  struct Times {
    Cycles entered = 0;
    Cycles completed = 0;
    Cycles retire = 0;
  };

  // Lets an instruction enter. Returns the time at which its address is ready.
  [[gnu::always_inline]] Cycles enter(const Row& row, Times& times, const History& retired) const {
    times.entered = later(times.entered + row.takes, retired.oldest());
    const Cycles address = ready(row.address, times.entered + 1);
    return row.simple ? address : ready(row.begin, row.address_end, address);
  }
  // Returns the time, `from` or later, at which an instruction's other inputs are ready.
  [[gnu::always_inline]] Cycles inputs(const Row& row, Cycles from) const {
    const Cycles uses = ready(row.uses, from);
    return row.simple ? uses : ready(row.address_end, row.uses_end, uses);
  }
  // Completes and retires an instruction that starts at `start`.
  [[gnu::always_inline]] void finish(const Row& row, Cycles start, Times& times, History& retired) {
    times.completed = start + row.computes;
    for (const std::uint16_t def : row.defs) registers_[def] = times.completed;
    times.retire = later(times.retire + row.takes, times.completed);
    retired.push(times.retire);
    if (row.simple) return;
    for (std::uint32_t d = row.uses_end; d < row.defs_end; ++d) {
      registers_[rows_.registers[d]] = times.completed;
    }
    for (std::uint32_t entry = 1; entry < row.entries; ++entry) retired.push(times.retire);
  }

  Cycles ready(const Row::Two& two, Cycles from) const {
    return later(later(from, registers_[two[0]]), registers_[two[1]]);
  }
  // Returns the time, `from` or later, at which registers [begin, end) of the rows are ready.
  Cycles ready(std::uint32_t begin, std::uint32_t end, Cycles from) const {
    for (std::uint32_t i = begin; i < end; ++i) {
      from = later(from, registers_[rows_.registers[i]]);
    }
    return from;
  }

  // A store retires at once and waits for its line in the store buffer; a full buffer stops the
  // entry of instructions. Consecutive stores to a line share one entry. Returns the time of the
  // last entry, `entered` or later.
  [[gnu::noinline]] Cycles drain(std::uint32_t line, Served from, Cycles entered, Cycles retire,
                                 WindowResult& result) {
    if (line == drained_line_) return entered;
    drained_line_ = line;
    const Cycles room = later(entered, drained_.oldest());
    const Cycles arrival = arrive(line, from, retire, result) - core_.first_level;
    drain_ = later(drain_, arrival);
    drained_.push(drain_);
    return room;
  }

  [[gnu::always_inline]] Cycles arrive(std::uint32_t line, Served from, Cycles requested,
                                       WindowResult& result) {
    const bool first_level = cache_.touch(line);
    Cycles& arrival = arrivals_[line];
    if (arrival != unknown) {
      const Cycles hit = requested + (first_level ? core_.first_level : core_.second_level);
      return later(hit, arrival);
    }
    if (counting_) ++result.served[static_cast<std::size_t>(from)];
    if (from == Served::private_cache || from == Served::last_level) {
      arrival = requested + (from == Served::last_level ? core_.last_level : core_.second_level);
      record_in_stream(line, requested);
    } else {
      arrival = fetch(from == Served::near ? near_ : far_, line, requested, result);
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
  const Rows& rows_;
  const Core& core_;
  MemorySide near_;
  MemorySide far_;
  History drained_;
  std::vector<Cycles> stored_;     // per store: when its value is ready
  std::vector<Cycles>& arrivals_;  // per line: its arrival; unknown: not touched
  std::array<Cycles, max_registers + 2> registers_{};
  FirstLevel cache_;
  Streams streams_;
  Cycles drain_ = 0;
  std::uint32_t drained_line_ = UINT32_MAX;
  bool counting_ = false;
};

}  // namespace

WindowResult run_window(const Trace& trace, const std::vector<Served>& served, const Core& core,
                        const Medium& near, const Medium& far) {
  WindowResult result;
  std::size_t begin = 0;
  const Rows rows(trace.code, core);
  std::vector<Cycles> arrivals(trace.lines, Simulation::unknown);
  for (const Burst& burst : trace.bursts) {
    Simulation(trace, rows, core, near, far, arrivals).run(burst, served.data() + begin, result);
    begin += burst.accesses.size();
  }
  return result;
}

}  // namespace nearfar::sim
