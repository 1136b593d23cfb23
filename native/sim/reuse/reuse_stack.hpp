// Reuse distances: the number of distinct lines touched since a line's last touch.
#pragma once

#include <cstdint>

namespace nearfar::sim {

// Keeps at most `capacity` lines. Every touch takes the next *slot*; a Fenwick tree counts the live
// slots after any slot. When slots run out, live ones move to the front. The caller provides the
// memory, because the profiler's runtime must not allocate. Not synchronised.
//
// When over() holds, the caller calls `drop_oldest` (exact distances up to `capacity`) or
// `keep_only` (samples lines, so that any distance can be estimated).
class ReuseStack {
 public:
  static constexpr std::uint32_t unseen = UINT32_MAX;

  static constexpr std::uint64_t bytes_for(std::uint32_t capacity) {
    return std::uint64_t{capacity} * slots_per_line *
           (sizeof(std::uint64_t) + sizeof(std::uint32_t) +
            entries_per_slot * sizeof(std::uint32_t));
  }

  ReuseStack() = default;
  // `memory` holds bytes_for(capacity) zeroed bytes; `capacity` is a power of two.
  ReuseStack(std::uint32_t capacity, void* memory)
      : capacity_(capacity),
        slots_(capacity * slots_per_line),
        lines_(static_cast<std::uint64_t*>(memory)),
        tree_(reinterpret_cast<std::uint32_t*>(lines_ + slots_)),
        table_(tree_ + slots_) {}

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t live() const { return live_; }
  bool over() const { return live_ > capacity_; }

  // Makes `line` the most recent; returns the distinct lines touched since its last touch, or
  // `unseen`.
  std::uint32_t touch(std::uint64_t line) {
    if (next_ == slots_) compact();
    std::uint32_t* const entry = find(line + 1);
    std::uint32_t distance = unseen;
    if (*entry != 0) {
      const std::uint32_t slot = *entry - 1;
      distance = live_ - live_up_to(slot);
      lines_[slot] = dead;
      change(slot, ~0u);
    } else {
      ++live_;
    }
    lines_[next_] = line + 1;
    change(next_, 1);
    *entry = ++next_;
    return distance;
  }

  void drop_oldest() {
    while (oldest_ < next_ && (lines_[oldest_] == dead || lines_[oldest_] == 0)) ++oldest_;
    if (oldest_ == next_) return;
    lines_[oldest_] = dead;
    change(oldest_, ~0u);
    --live_;
  }

  // Drops every line for which `keep(line)` is false.
  template <typename Keep>
  void keep_only(Keep keep) {
    for (std::uint32_t slot = 0; slot < next_; ++slot) {
      if (lines_[slot] != dead && !keep(lines_[slot] - 1)) {
        lines_[slot] = dead;
        --live_;
      }
    }
    compact();
  }

 private:
  static constexpr std::uint32_t slots_per_line = 4;    // compaction costs 1/3 slot per touch
  static constexpr std::uint32_t entries_per_slot = 2;  // the hash table is at most half full
  static constexpr std::uint64_t dead = UINT64_MAX;

  // Returns the line's entry, or the free entry for it. Entries of dead lines stay until compact().
  std::uint32_t* find(std::uint64_t tagged) const {
    const std::uint32_t mask = slots_ * entries_per_slot - 1;
    std::uint64_t at = tagged * 0x9E3779B97F4A7C15ull >> 32;
    for (;; ++at) {
      std::uint32_t* const entry = &table_[at & mask];
      if (*entry == 0 || lines_[*entry - 1] == tagged) return entry;
    }
  }

  // Number of live slots up to and including `slot`.
  std::uint32_t live_up_to(std::uint32_t slot) const {
    std::uint32_t sum = 0;
    for (std::uint32_t at = slot + 1; at > 0; at &= at - 1) sum += tree_[at - 1];
    return sum;
  }
  void change(std::uint32_t slot, std::uint32_t by) {
    for (std::uint32_t at = slot + 1; at <= slots_; at += at & (~at + 1)) tree_[at - 1] += by;
  }

  void compact() {
    std::uint32_t kept = 0;
    for (std::uint32_t slot = 0; slot < next_; ++slot) {
      if (lines_[slot] != dead) lines_[kept++] = lines_[slot];
    }
    for (std::uint32_t slot = kept; slot < slots_; ++slot) lines_[slot] = 0;
    for (std::uint32_t i = 0; i < slots_ * entries_per_slot; ++i) table_[i] = 0;
    // Builds the tree of `kept` ones: each node counts its range.
    for (std::uint32_t at = 1; at <= slots_; ++at) {
      const std::uint32_t begin = at & (at - 1);
      const std::uint32_t end = at < kept ? at : kept;
      tree_[at - 1] = end > begin ? end - begin : 0;
    }
    for (std::uint32_t slot = 0; slot < kept; ++slot) *find(lines_[slot]) = slot + 1;
    next_ = kept;
    live_ = kept;
    oldest_ = 0;
  }

  std::uint32_t capacity_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t live_ = 0;
  std::uint32_t oldest_ = 0;
  std::uint64_t* lines_ = nullptr;  // by slot: line + 1, `dead`, or 0 beyond next_
  std::uint32_t* tree_ = nullptr;   // Fenwick: live slots
  std::uint32_t* table_ = nullptr;  // open addressing: slot + 1
};

}  // namespace nearfar::sim
