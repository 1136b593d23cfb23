// The blocks that a cache or buffer holds: set-associative or fully associative, LRU or random.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/device/dice.hpp"
#include "sim/device/dispatch.hpp"
#include "sim/device/recency.hpp"
#include "sim/device/rows.hpp"
#include "sim/device/words.hpp"

namespace nearfar::sim {

enum class Replacement : std::uint8_t { lru, random };

struct Shape {
  std::uint32_t sets = 1;
  std::uint32_t ways = 1;  // a single set may have any number: fully associative
  Replacement replacement = Replacement::lru;
};

inline constexpr unsigned max_row_ways = 16;  // one 64-byte row
inline constexpr unsigned max_scanned_ways =
    128;  // maximum number of blocks that are searched one by one; above it, a hash table is used

// Allocates on every miss, in an empty way if there is one.
class Blocks {
 public:
  // Throws std::invalid_argument for an impossible shape.
  explicit Blocks(Shape shape, std::uint64_t seed = 1);
  Blocks(const Blocks&) = delete;  // `words_` points into `memory_`; only a move keeps it valid
  Blocks& operator=(const Blocks&) = delete;
  Blocks(Blocks&&) = default;
  Blocks& operator=(Blocks&&) = default;
  ~Blocks() = default;

  [[nodiscard]] const Shape& shape() const { return shape_; }

  template <typename Vector>
  LookupResult access(std::uint32_t block, bool write) {
    const std::uint32_t tag = block << 1U;
    clean_ = clean_ && !write;
    switch (kind_) {
      case Kind::rows:
        switch (width_) {
          case 4:
            return sets().access<Vector, 4, false>(set_of(block), tag, write ? 1U : 0U);
          case 8:
            return sets().access<Vector, 8, false>(set_of(block), tag, write ? 1U : 0U);
          default:
            return sets().access<Vector, 16, false>(set_of(block), tag, write ? 1U : 0U);
        }
      case Kind::random_rows:
        return random_in<Vector>(words_ + row_at(block), shape_.ways, tag, write);
      case Kind::scanned: {
        Scanned scanned = this->scanned();
        const LookupResult result = scanned.access<Vector, false>(block, write ? 1U : 0U);
        keep(scanned);
        return result;
      }
      case Kind::hashed:
        return hashed(block, write);
    }
    return {};
  }
  struct Passed {
    std::size_t requests;
    std::size_t fetches;  // requests that fetch a line; the others write one back
  };
  // Handles `count` requests to a cache of lines and writes its requests to the next level to
  // `out`: dirty evicted lines and misses, in order. `out` needs room for 2 x count. The first
  // level (`first`) fetches lines that are stored to. `writes`: a request may be dirty.
  template <typename Vector>
  Passed pass(const std::uint32_t* in, std::size_t count, std::uint32_t* out, bool first,
              bool writes) {
    clean_ = clean_ && !writes;
    return clean_ ? pass_any<Vector, true>(in, count, out, first)
                  : pass_any<Vector, false>(in, count, out, first);
  }
  // Calls `use(i, result)` for i below `count`, after looking `block_of(i)` up to read it.
  // `block_of` is called so far beyond the end as `pass` reads its input.
  template <typename Vector, typename BlockOf, typename Use>
  void read_all(std::size_t count, BlockOf block_of, Use use) {
    if (clean_) {
      read_any<Vector, true>(count, block_of, use);
    } else {
      read_any<Vector, false>(count, block_of, use);
    }
  }
  // Prefetches the data that the search for a block will read, if it may not be in the first-level
  // cache.
  void prefetch(std::uint32_t block) const {
    if (kind_ != Kind::rows && kind_ != Kind::random_rows) return;
    __builtin_prefetch(words_ + row_at(block), 1);
    if (kind_ == Kind::rows) __builtin_prefetch(&recency_[set_of(block)], 1);
  }
  // Prefetch distance in requests; `pass` reads its input so far beyond the end.
  static constexpr std::size_t prefetch_distance = 16;
  // Rows up to this size stay in the first-level cache and need no prefetch.
  static constexpr std::uint64_t first_level_bytes = 8192;
  void clear();

 private:
  enum class Kind : std::uint8_t { rows, random_rows, scanned, hashed };

  [[nodiscard]] std::uint32_t set_of(std::uint32_t block) const {
    return mask_ != 0 ? block & mask_ : block % shape_.sets;
  }
  [[nodiscard]] std::uint64_t row_at(std::uint32_t block) const {
    return std::uint64_t{set_of(block)} * width_;
  }

  // `clean`: no held block and no request is dirty.
  template <typename Vector, bool clean>
  Passed pass_any(const std::uint32_t* in, std::size_t count, std::uint32_t* out, bool first) {
    if (kind_ != Kind::rows) {
      Passed passed{};
      for (std::size_t i = 0; i < count; ++i) {
        const LookupResult result = access<Vector>(in[i] >> 1U, (in[i] & 1U) != 0);
        if (!result.hit) emit(in[i], result.evicted, first, out, passed);
      }
      return passed;
    }
    switch (width_) {
      case 4:
        return dispatch<PassJob<4, clean>>(Vector::isa, sets(), in, count, out, first);
      case 8:
        return dispatch<PassJob<8, clean>>(Vector::isa, sets(), in, count, out, first);
      default:
        return dispatch<PassJob<16, clean>>(Vector::isa, sets(), in, count, out, first);
    }
  }
  template <typename Vector, bool clean, typename BlockOf, typename Use>
  void read_any(std::size_t count, BlockOf block_of, Use use) {
    if (kind_ == Kind::rows && width_ == max_row_ways) {
      const Sets sets = this->sets();
      sets.with_sets_of([&](auto set_of) {
        for (std::size_t i = 0; i < count; ++i) {
          sets.prefetch<max_row_ways>(set_of(block_of(i + prefetch_distance)));
          const std::uint32_t block = block_of(i);
          sets.look_up<Vector, max_row_ways, clean>(
              set_of(block), block << 1U, 0,
              [&] {
                use(i, {true, empty_word});
              },
              [&](std::uint32_t old) {
                use(i, {false, old});
              });
        }
      });
    } else if (kind_ == Kind::scanned) {
      Scanned scanned = this->scanned();
      for (std::size_t i = 0; i < count; ++i) {
        use(i, scanned.access<Vector, clean>(block_of(i), 0));
      }
      keep(scanned);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        prefetch(block_of(i + prefetch_distance));
        use(i, access<Vector>(block_of(i), false));
      }
    }
  }

  // Writes both requests of a miss and counts those that apply, so that there is no branch.
  static void emit(std::uint32_t request, std::uint32_t evicted, bool first, std::uint32_t* out,
                   Passed& passed) {
    const std::uint32_t dirty = evicted & 1U;
    const std::uint32_t fetches = first ? 1U : ~request & 1U;
    out[passed.requests] = evicted;
    out[passed.requests + dirty] = request & ~1U;
    passed.requests += dirty + fetches;
    passed.fetches += fetches;
  }
  // The sets of Kind::rows. A loop copies it, because stores to rows could change a member.
  struct Sets {
    std::uint32_t* words;
    Recency* recency;
    std::uint32_t count;
    std::uint32_t mask;
    unsigned ways;

    [[nodiscard]] std::uint32_t of(std::uint32_t block) const {
      return mask != 0 ? block & mask : block % count;
    }
    template <unsigned width>
    void prefetch(std::uint32_t set) const {
      __builtin_prefetch(words + std::uint64_t{set} * width, 1);
      __builtin_prefetch(recency + set, 1);
    }
    // `clean`: no block is dirty, nor becomes so. Calls hit(), or missed(the evicted word).
    template <typename Vector, unsigned width, bool clean, typename Hit, typename Missed>
    void look_up(std::uint32_t set, std::uint32_t tag, std::uint32_t dirty, Hit hit,
                 Missed missed) const {
      std::uint32_t* row = words + std::uint64_t{set} * width;
      const std::uint32_t matches = Vector::template matches<width, clean>(row, tag);
      if (matches != 0) {
        const auto way = static_cast<std::uint32_t>(std::countr_zero(matches));
        // A store would delay the next search of the row.
        if (!clean && (dirty & ~row[way]) != 0) row[way] |= 1U;
        recency[set].use(way);
        hit();
        return;
      }
      const std::uint32_t way = recency[set].reuse(ways);
      const std::uint32_t old = clean ? empty_word : row[way];
      row[way] = tag | dirty;
      missed(old);
    }
    template <typename Vector, unsigned width, bool clean>
    LookupResult access(std::uint32_t set, std::uint32_t tag, std::uint32_t dirty) const {
      LookupResult result;
      look_up<Vector, width, clean>(
          set, tag, dirty, [&] { result.hit = true; },
          [&](std::uint32_t old) { result.evicted = old; });
      return result;
    }
    // Calls `loop` with a function from blocks to sets: no step tests for a mask.
    template <typename Loop>
    auto with_sets_of(Loop loop) const {
      if (mask == 0) return loop([this](std::uint32_t block) { return block % count; });
      return loop([mask = mask](std::uint32_t block) { return block & mask; });
    }
  };
  [[nodiscard]] Sets sets() { return {words_, recency_.data(), shape_.sets, mask_, shape_.ways}; }

  template <unsigned width, bool clean>
  struct PassJob {
    template <typename Vector>
    static Passed with(Sets sets, const std::uint32_t* in, std::size_t count, std::uint32_t* out,
                       bool first) {
      const bool distant = std::uint64_t{sets.count} * width * sizeof *out > first_level_bytes;
      return sets.with_sets_of([=](auto set_of) {
        Passed passed{};
        for (std::size_t i = 0; i < count; ++i) {
          if (distant) {
            // Beyond the end of the input this prefetches an arbitrary row, which does no harm.
            sets.template prefetch<width>(set_of(in[i + prefetch_distance] >> 1U));
          }
          const std::uint32_t request = in[i];
          const std::uint32_t dirty = clean ? 0 : request & 1U;
          sets.template look_up<Vector, width, clean>(
              set_of(request >> 1U), request ^ dirty, dirty, [] {},
              [&](std::uint32_t old) {
                if constexpr (clean) {
                  out[passed.requests++] = request;
                } else {
                  emit(request, old, first, out, passed);
                }
              });
        }
        if constexpr (clean) passed.fetches = passed.requests;
        return passed;
      });
    }
  };
  template <typename Vector>
  LookupResult random_in(std::uint32_t* row, unsigned ways, std::uint32_t tag, bool write) {
    unsigned at = Vector::find(row, ways, tag);
    if (at < ways) {
      row[at] |= write ? 1U : 0U;
      return {true, empty_word};
    }
    // Ways fill from the front, so an empty way exists only if the last one is empty.
    at = row[ways - 1] == empty_word ? Vector::find(row, ways, empty_word) : dice_.below(ways);
    const std::uint32_t old = row[at];
    row[at] = tag | (write ? 1U : 0U);
    return {false, old};
  }

  // The blocks of Kind::scanned, copied by a loop as above. Most searches fail; those of a block
  // whose hash no held block has are left out.
  struct Scanned {
    std::uint32_t* words;
    std::uint8_t* held;
    unsigned ways;
    std::uint32_t used;
    Dice dice;

    template <typename Vector, bool clean>
    LookupResult access(std::uint32_t block, std::uint32_t dirty) {
      const std::uint32_t tag = block << 1U;
      std::uint8_t& alike = held[hash(block)];
      unsigned at = alike == 0 ? ways : Vector::find(words, ways, tag);
      if (at < ways) {
        words[at] |= dirty;
        return {true, empty_word};
      }
      at = used < ways ? used++ : dice.below(ways);
      const std::uint32_t old = words[at];
      words[at] = tag | dirty;
      ++alike;
      if (old != empty_word) --held[hash(old >> 1U)];
      return {false, clean ? empty_word : old};
    }
    static std::uint32_t hash(std::uint32_t block) {
      return block * 0x9E3779B9U >> (32 - hash_bits);
    }
  };
  static constexpr unsigned hash_bits = 11;  // 16 times as many as the most blocks
  [[nodiscard]] Scanned scanned() { return {words_, held_.data(), shape_.ways, used_, dice_}; }
  void keep(const Scanned& scanned) {
    used_ = scanned.used;
    dice_ = scanned.dice;
  }

  LookupResult hashed(std::uint32_t block, bool write);
  [[nodiscard]] std::uint32_t home(std::uint32_t block) const {
    return static_cast<std::uint32_t>((block * 0x9E3779B97F4A7C15U) >> hash_shift_);
  }
  void forget(std::uint32_t block);
  void unlink(std::uint32_t slot);
  void put_first(std::uint32_t slot);

  Shape shape_;
  Kind kind_;
  unsigned width_ = 0;
  std::uint32_t mask_ = 0;  // sets - 1 if sets is a power of two; 0: use the remainder
  bool clean_ = true;       // whether no held block is dirty
  Dice dice_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> memory_;
  std::uint32_t* words_ = nullptr;  // in memory_, 64-byte aligned
  std::vector<Recency> recency_;    // of each set; Kind::rows only

  // Kind::scanned: number of held blocks by hash.
  std::vector<std::uint8_t> held_;
  // Kind::hashed: `index_` is an open-addressing table of slot + 1; the lists order slots by
  // recency.
  std::vector<std::uint32_t> index_;
  std::vector<std::uint32_t> newer_;
  std::vector<std::uint32_t> older_;
  unsigned hash_shift_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
};

}  // namespace nearfar::sim
