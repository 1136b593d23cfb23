// Reuse distances: the number of distinct lines touched since a line's last touch.
#pragma once

#include <emmintrin.h>

#include <cstdint>
#include <cstring>

#include "base/keep_order.hpp"

namespace nearfar::sim {

// Keeps at most `capacity` lines. Every touch takes the next *slot*. A bit per slot says whether it
// is live, and a byte per 64 slots how many of them are: the live slots after any slot are a sum of
// few bytes, which all stay in the first-level cache. When slots run out, live ones move to the
// front. The caller provides the memory, because the profiler's runtime must not allocate. Not
// synchronised.
//
// If over() holds, the caller calls `drop_excess` (exact distances up to `capacity`) or
// `keep_only` (samples lines, so that any distance can be estimated).
//
// A signal handler may jump out of any call, any number of times. A line may then be lost, or be
// dropped later than asked, and distances are wrong until the next compaction. The fences below
// keep the order of stores that ensures this.
class ReuseStack {
 public:
  static constexpr std::uint32_t unseen = UINT32_MAX;

  static constexpr std::uint64_t bytes_for(std::uint32_t capacity) {
    const std::uint64_t slots = std::uint64_t{capacity} * slots_per_line;
    return slots * (sizeof(std::uint64_t) + entries_per_slot * sizeof(std::uint32_t)) +
           slots / word_bits * sizeof(std::uint64_t) +
           ((slots / word_bits + counts_at_once + 7) & ~std::uint64_t{7});
  }

  ReuseStack() = default;
  // `memory` holds bytes_for(capacity) zeroed bytes; `capacity` is a power of two, at least 16.
  ReuseStack(std::uint32_t capacity, void* memory)
      : capacity_(capacity),
        slots_(capacity * slots_per_line),
        lines_(static_cast<std::uint64_t*>(memory)),
        live_bits_(lines_ + slots_),
        table_(reinterpret_cast<std::uint32_t*>(live_bits_ + slots_ / word_bits)),
        live_counts_(
            reinterpret_cast<std::uint8_t*>(table_ + std::size_t{slots_} * entries_per_slot)) {}

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t live() const { return live_; }
  bool over() const { return live_ > capacity_; }

  // Prefetches the data that `touch` reads first.
  void prefetch(std::uint64_t line) const { __builtin_prefetch(&table_[first_entry(line + 1)], 1); }

  // Makes `line` the most recent; returns the distinct lines touched since its last touch, or
  // `unseen`.
  std::uint32_t touch(std::uint64_t line) {
    if (next_ > 0 && lines_[next_ - 1] == line + 1) return 0;  // it is the newest
    if (next_ == slots_) compact();
    std::uint32_t* const entry = find(line + 1);
    std::uint32_t distance = unseen;
    if (*entry != 0) {
      const std::uint32_t slot = slot_of(*entry);
      distance = live_after(slot);
      kill(slot);
    } else {
      ++live_;
    }
    // The old slot is free before the line gets another one, and `live_` is never too low. Each
    // entry takes a slot, so the table never fills.
    keep_order();
    const std::uint32_t slot = next_++;
    keep_order();
    *entry = entry_of(line + 1, slot);
    keep_order();
    lines_[slot] = line + 1;
    live_bits_[slot / word_bits] |= std::uint64_t{1} << slot % word_bits;
    ++live_counts_[slot / word_bits];
    return distance;
  }

  // Drops the oldest lines until over() does not hold.
  void drop_excess() {
    while (over()) drop_oldest();
  }

  // Drops every line for which `keep(line)` is false, and compacts the slots.
  template <typename Keep>
  void keep_only(Keep keep) {
    // Until this is complete, the next touch compacts again.
    next_ = slots_;
    keep_order();
    std::uint32_t kept = 0;
    for (std::uint32_t slot = 0; slot < slots_; ++slot) {
      const std::uint64_t tagged = lines_[slot];
      if (is_free(tagged)) continue;
      lines_[slot] = dead;
      keep_order();
      if (keep(tagged - 1)) lines_[kept++] = tagged;
    }
    keep_order();
    index(kept);
    live_ = kept;
    oldest_ = 0;
    keep_order();
    next_ = kept;
  }

 private:
  static constexpr std::uint32_t slots_per_line = 4;    // compaction costs 1/3 slot per touch
  static constexpr std::uint32_t entries_per_slot = 2;  // the hash table is at most half full
  static constexpr std::uint64_t dead = UINT64_MAX;
  static constexpr bool is_free(std::uint64_t tagged) { return tagged == dead || tagged == 0; }
  static constexpr std::uint32_t word_bits = 64;
  static constexpr std::uint32_t counts_at_once = 16;

  static std::uint64_t hash(std::uint64_t tagged) { return tagged * 0x9E3779B97F4A7C15ull; }
  std::uint32_t last_entry() const { return slots_ * entries_per_slot - 1; }
  std::uint32_t first_entry(std::uint64_t tagged) const {
    return static_cast<std::uint32_t>(hash(tagged) >> 32) & last_entry();
  }

  // An entry is slot + 1 and, in the bits above, some bits of the line's hash, so that nearly all
  // entries of other lines are skipped without reading the line. `2 * slots_ - 1` covers slot + 1.
  std::uint32_t mark_of(std::uint64_t tagged) const {
    return static_cast<std::uint32_t>(hash(tagged)) & ~(2 * slots_ - 1);
  }
  std::uint32_t entry_of(std::uint64_t tagged, std::uint32_t slot) const {
    return mark_of(tagged) | (slot + 1);
  }
  std::uint32_t slot_of(std::uint32_t entry) const { return (entry & (2 * slots_ - 1)) - 1; }

  // Returns the line's entry, or the free entry for it. Entries of dead lines stay until index().
  std::uint32_t* find(std::uint64_t tagged) const {
    const std::uint32_t mark = mark_of(tagged);
    for (std::uint32_t at = first_entry(tagged);; ++at) {
      std::uint32_t* const entry = &table_[at & last_entry()];
      if (*entry == 0) return entry;
      if ((*entry & ~(2 * slots_ - 1)) == mark && lines_[slot_of(*entry)] == tagged) return entry;
    }
  }

  void kill(std::uint32_t slot) {
    lines_[slot] = dead;
    live_bits_[slot / word_bits] &= ~(std::uint64_t{1} << slot % word_bits);
    --live_counts_[slot / word_bits];
  }

  // Returns the number of live slots after `slot`. Counts after the last word are 0.
  std::uint32_t live_after(std::uint32_t slot) const {
    const std::uint32_t word = slot / word_bits;
    const std::uint32_t words = (next_ + word_bits - 1) / word_bits;
    __m128i sums = _mm_setzero_si128();
    for (std::uint32_t at = word + 1; at < words; at += counts_at_once) {
      const __m128i counts = _mm_loadu_si128(reinterpret_cast<const __m128i*>(live_counts_ + at));
      sums = _mm_add_epi64(sums, _mm_sad_epu8(counts, _mm_setzero_si128()));
    }
    sums = _mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums));
    const auto later_words = static_cast<std::uint32_t>(_mm_cvtsi128_si32(sums));
    return later_words + bit_count(live_bits_[word] >> slot % word_bits >> 1);
  }

  // Bit count without the instruction for it, which the runtime may not assume to exist.
  static std::uint32_t bit_count(std::uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<std::uint32_t>((bits * 0x0101010101010101u) >> 56);
  }

  void drop_oldest() {
    while (oldest_ < next_ && is_free(lines_[oldest_])) ++oldest_;
    if (oldest_ == next_) {
      live_ = 0;
      return;
    }
    kill(oldest_);
    keep_order();
    --live_;
  }

  void compact() {
    const auto all = [](std::uint64_t) { return true; };
    keep_only(all);
    if (!over()) return;
    // Jumps have skipped what the caller does while over() holds.
    drop_excess();
    keep_only(all);
  }

  // Builds the table, the bits and their counts for lines in the first `kept` slots.
  void index(std::uint32_t kept) {
    std::memset(table_, 0, std::size_t{slots_} * entries_per_slot * sizeof *table_);
    for (std::uint32_t word = 0; word < slots_ / word_bits; ++word) {
      const std::uint32_t first = word * word_bits;
      const std::uint32_t live = kept < first               ? 0
                                 : kept - first < word_bits ? kept - first
                                                            : word_bits;
      live_counts_[word] = static_cast<std::uint8_t>(live);
      live_bits_[word] = live == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << live) - 1;
    }
    for (std::uint32_t slot = 0; slot < kept; ++slot)
      *find(lines_[slot]) = entry_of(lines_[slot], slot);
  }

  std::uint32_t capacity_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t live_ = 0;
  std::uint32_t oldest_ = 0;
  std::uint64_t* lines_ = nullptr;       // by slot: line + 1, `dead`, or 0 if never used
  std::uint64_t* live_bits_ = nullptr;   // by slot
  std::uint32_t* table_ = nullptr;       // open addressing: entry_of()
  std::uint8_t* live_counts_ = nullptr;  // by word of live_bits_; followed by 16 zeros
};

}  // namespace nearfar::sim
