// A memory as the core sees it: arrival times of requested lines, with miss buffers, bus and
// prefetcher.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/window/window.hpp"

namespace nearfar::sim {

// Returns the number of the slot that holds a time, which is in slots and not negative. A signed
// conversion is one instruction, an unsigned one is several.
inline std::size_t slot_of(Cycles time) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(time));
}

// The core's miss buffers. Requests are simulated in program order, so their times are not
// monotonic and gaps are filled later.
class MissBuffers {
 public:
  static constexpr Cycles width = 4;  // slot length
  explicit MissBuffers(std::uint32_t count)
      : count_(static_cast<std::uint8_t>(std::clamp(count, 1u, max_in_flight))) {
    in_use_.reserve(reserved);
  }
  struct Free {
    Cycles time;
    std::size_t slot;  // of the time
  };
  // Returns the time, `requested` or later, at which a buffer is free.
  Free free(Cycles requested) {
    const std::size_t first = at(requested);
    if (first >= in_use_.size() || in_use_[first] < count_) return {requested, first};
    // Full slots stay full, so the known full range is skipped at once.
    const bool known = full_begin_ <= first && first < full_end_;
    if (!known) full_begin_ = first;
    full_end_ = not_full_from(known ? full_end_ : first);
    return {static_cast<Cycles>(static_cast<std::int64_t>(full_end_)) * width, full_end_};
  }
  unsigned in_use(std::size_t slot) const { return slot < in_use_.size() ? in_use_[slot] : 0; }
  void occupy(std::size_t first, Cycles end) {
    const std::size_t last = std::max(first + 1, at(end));
    // Vectors begin at multiples of their length: a load that spans two earlier stores would wait.
    std::size_t slot = first / each * each;
    if (last + each > in_use_.size()) in_use_.resize(2 * (last / each + 1) * each, 0);
    std::uint8_t* const slots = in_use_.data();
    Slots ones = ones_at(each - (first - slot));
    for (; slot + each < last; slot += each) {
      add(slots + slot, ones);
      ones = ones_at(each);
    }
    add(slots + slot, ones & ones_at(2 * each - (last - slot)));
  }

 private:
  // At -O2 compilers vectorise no loop of unknown length by themselves.
  using Slots = std::uint8_t __attribute__((vector_size(16)));
  using Halves = std::uint64_t __attribute__((vector_size(16)));
  static constexpr std::size_t reserved = 8192;
  static constexpr std::size_t each = sizeof(Slots);
  // Returns 16 bytes of 16 zeros, 16 ones and 16 zeros, from `from` on.
  static Slots ones_at(std::size_t from) {
    static constexpr auto bytes = [] {
      std::array<std::uint8_t, 3 * each> made{};
      for (std::size_t i = each; i < 2 * each; ++i) made[i] = 1;
      return made;
    }();
    Slots ones;
    std::memcpy(&ones, bytes.data() + from, sizeof ones);
    return ones;
  }
  // Adds `ones` to 16 slots; a full byte stays.
  static void add(std::uint8_t* slots, Slots ones) {
    Slots in_use;
    std::memcpy(&in_use, slots, sizeof in_use);
    const Slots sum = in_use + ones;
    in_use = sum > in_use ? sum : in_use;
    std::memcpy(slots, &in_use, sizeof in_use);
  }
  // Returns the first slot from `slot` on, which is in use, that is not full. The last slots are
  // free, because a vector is added to fewer than there are.
  [[nodiscard]] std::size_t not_full_from(std::size_t slot) const {
    std::size_t begin = slot / each * each;
    Slots wanted = ones_at(each - (slot - begin));
    for (; begin < in_use_.size(); begin += each, wanted = ones_at(each)) {
      Slots in_use;
      std::memcpy(&in_use, in_use_.data() + begin, sizeof in_use);
      const auto free = (Halves)((Slots)(in_use < count_) & wanted);
      if (free[0] != 0) return begin + static_cast<unsigned>(std::countr_zero(free[0])) / 8;
      if (free[1] != 0) return begin + 8 + static_cast<unsigned>(std::countr_zero(free[1])) / 8;
    }
    return begin;
  }
  static std::size_t at(Cycles time) { return slot_of(time / width); }

  std::uint8_t count_;
  std::vector<std::uint8_t> in_use_;
  std::size_t full_begin_ = 0;
  std::size_t full_end_ = 0;
};

// A bus that each line occupies for some time. Gaps are filled later.
class Bus {
 public:
  // Slot length: the time of a few lines. The order of lines within a slot does not matter.
  static constexpr Cycles width = 64;
  // Returns the time at which a line that starts at `from`, in `slot`, has crossed the bus.
  Cycles carry(Cycles from, std::size_t slot, Cycles takes) {
    for (Cycles left = takes;; ++slot) {
      if (slot >= used_.size()) used_.resize(2 * slot + 1, 0);
      const Cycles part = earlier(left, width - used_[slot]);
      used_[slot] += part;
      left -= part;
      if (left <= 0) break;
    }
    return later(from + takes,
                 static_cast<Cycles>(static_cast<std::int64_t>(slot)) * width + used_[slot]);
  }

 private:
  std::vector<Cycles> used_;
};

class MemorySide {
 public:
  MemorySide(const Medium& medium, std::uint32_t miss_buffers)
      : medium_(medium), miss_buffers_(miss_buffers) {}

  // Returns the arrival time of a line. `in_sequence`: the previous line has opened its DRAM row,
  // so the line does not queue.
  Cycles arrives(Cycles requested, bool in_sequence) {
    const MissBuffers::Free free = miss_buffers_.free(requested);
    const unsigned in_flight =
        in_sequence ? 1 : std::min(miss_buffers_.in_use(free.slot) + 1, max_in_flight);
    const Cycles arrival = later(
        free.time + medium_.latency[in_flight],
        on_bus(free.time, free.slot / miss_slots_per_bus_slot) - medium_.line + medium_.latency[1]);
    miss_buffers_.occupy(free.slot, arrival);
    return arrival;
  }
  // Returns the arrival time of a prefetched line of a stream whose last line arrived at `before`.
  Cycles arrives_in_stream(Cycles requested, Cycles before) {
    return std::max({requested + medium_.latency[1], before + medium_.stream,
                     on_bus(requested, slot_of(requested / Bus::width))});
  }
  // Prefetch distance in lines: enough to cover the latency.
  unsigned depth() const {
    return static_cast<unsigned>(std::clamp(medium_.latency[1] / medium_.stream, 1.0, 63.0));
  }
  bool has_prefetcher() const { return medium_.stream > 0; }

 private:
  // The controller writes dirty lines back in batches of this many.
  static constexpr double batch = 8;
  static constexpr auto miss_slots_per_bus_slot =
      static_cast<std::size_t>(Bus::width / MissBuffers::width);
  // Powers of two, so that both divisions of a time round down to the same slot.
  static_assert(miss_slots_per_bus_slot * MissBuffers::width == Bus::width);
  static_assert(std::has_single_bit(miss_slots_per_bus_slot));

  Cycles on_bus(Cycles requested, std::size_t slot) {
    written_ += medium_.write_back;
    if (written_ >= batch * medium_.write) {
      bus_.carry(requested, slot, written_);
      written_ = 0;
    }
    return bus_.carry(requested, slot, medium_.line);
  }

  Medium medium_;
  MissBuffers miss_buffers_;
  Bus bus_;
  Cycles written_ = 0;
};

// Streams of consecutive lines; the prefetcher follows them from the third line on.
class Streams {
 public:
  struct Stream {
    std::uint32_t length = 0;
    Cycles arrived = 0;
    // Arrival times by line number. Only entries that this stream wrote are read, so a new stream
    // need not clear them.
    std::array<Cycles, 64> requested;
  };
  static constexpr std::uint32_t followed_from = 3;

  Streams() {
    for (Lines& lines : continuing_) lines.fill(no_line);
    alike(no_line) = count;
    for (std::uint32_t at = 0; at < count; ++at) link(at, (at + 1) % count);
  }

  // Returns the stream that `line` continues, or a new one.
  Stream& of(std::uint32_t line) {
    const std::uint32_t at = continued_by(line);
    if (at == count) return begin(line);
    Stream& stream = streams_[at];
    use(at);
    const std::uint32_t step = line - continuing_[same][at];
    if (step == 0) return stream;
    ++stream.length;
    // The second line decides the direction.
    continue_with(at, line, line + step, line + step);
    return stream;
  }

 private:
  // As many streams as cores track (Intel's streamer: 32).
  static constexpr std::uint32_t count = 32;
  static constexpr std::uint32_t no_line = UINT32_MAX;
  enum Which : std::uint8_t { same, up, down };
  using Lines = std::array<std::uint32_t, count>;

  // Returns the first stream that `line` continues; `count` if there is none, as for most lines of
  // random accesses. Without branches on a stream, the search is vectorised.
  [[nodiscard]] std::uint32_t continued_by(std::uint32_t line) {
    // A stream's next line is a neighbour of its last one.
    if ((alike(line - 1) | alike(line) | alike(line + 1)) == 0) return count;
    std::uint32_t any = 0;
    for (std::uint32_t at = 0; at < count; ++at) any |= continues(at, line);
    if (any == 0) return count;
    std::uint32_t at = 0;
    while (continues(at, line) == 0) ++at;
    return at;
  }
  [[nodiscard]] std::uint32_t continues(std::uint32_t at, std::uint32_t line) const {
    return (continuing_[same][at] == line ? 1U : 0U) | (continuing_[up][at] == line ? 1U : 0U) |
           (continuing_[down][at] == line ? 1U : 0U);
  }
  std::uint8_t& alike(std::uint32_t line) { return alike_[line % alike_.size()]; }
  // Returns the stream that was not used for longest, which begins again with `line`.
  Stream& begin(std::uint32_t line) {
    const std::uint32_t at = newer_[newest_];
    newest_ = at;
    Stream& stream = streams_[at];
    stream.length = 1;
    stream.arrived = 0;
    continue_with(at, line, line + 1, line - 1);
    return stream;
  }
  void continue_with(std::uint32_t at, std::uint32_t line, std::uint32_t above,
                     std::uint32_t below) {
    --alike(continuing_[same][at]);
    ++alike(line);
    continuing_[same][at] = line;
    continuing_[up][at] = above;
    continuing_[down][at] = below;
  }
  void use(std::uint32_t at) {
    if (at == newest_) return;
    link(older_[at], newer_[at]);
    const std::uint32_t oldest = newer_[newest_];
    link(newest_, at);
    link(at, oldest);
    newest_ = at;
  }
  void link(std::uint32_t older, std::uint32_t newer) {
    newer_[older] = newer;
    older_[newer] = older;
  }

  std::array<Stream, count> streams_;
  std::array<Lines, 3> continuing_;  // lines that continue each stream
  // Number of streams by the low bits of their last line, so that most searches are left out.
  std::array<std::uint8_t, 2048> alike_{};
  // A ring by recency of use: the oldest stream follows the newest one.
  Lines older_;
  Lines newer_;
  std::uint32_t newest_ = count - 1;
};

}  // namespace nearfar::sim
