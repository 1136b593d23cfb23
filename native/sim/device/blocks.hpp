// The blocks that a cache or buffer holds: set-associative or fully associative, LRU or random.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/device/dice.hpp"
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
    switch (kind_) {
      case Kind::rows: {
        std::uint32_t* row = row_of(block);
        return Vector::lru(row, shape_.ways, width_, tag, write ? 1U : 0U);
      }
      case Kind::random_rows:
        return random_in<Vector>(row_of(block), shape_.ways, tag, write);
      case Kind::scanned:
        return random_in<Vector>(words_, shape_.ways, tag, write);
      case Kind::hashed:
        return hashed(block, write);
    }
    return {};
  }
  // Handles `count` requests to a cache of lines and writes its requests to the next level to
  // `out`: dirty evicted lines and misses, in order. Returns their number; `out` needs room for 2 x
  // count. In the first level (`first`) stores make lines dirty, in others write-backs do.
  template <typename Vector>
  std::size_t pass(const Request* in, std::size_t count, Request* out, bool first) {
    const Request::Kind dirtying = first ? Request::store : Request::write_back;
    std::size_t emitted = 0;
    const auto emit = [&](const Request& request, const LookupResult& result) {
      // Writes both requests and counts those that apply, so that there is no branch on hit or
      // miss.
      out[emitted] = {result.evicted_block(), Request::write_back};
      emitted += result.evicted_dirty() ? 1 : 0;
      out[emitted] = {request.line, Request::load};
      emitted += !result.hit && request.kind != Request::write_back ? 1 : 0;
    };
    if (kind_ != Kind::rows) {
      for (std::size_t i = 0; i < count; ++i) {
        emit(in[i], access<Vector>(in[i].line, in[i].kind == dirtying));
      }
      return emitted;
    }
    const auto look = [&](const Request& request) {
      const std::uint32_t write = request.kind == dirtying ? 1U : 0U;
      emit(request,
           Vector::lru(row_of(request.line), shape_.ways, width_, request.line << 1U, write));
    };
    if (std::uint64_t{shape_.sets} * width_ * sizeof *words_ <= first_level_bytes) {
      for (std::size_t i = 0; i < count; ++i) look(in[i]);
      return emitted;
    }
    for (std::size_t i = 0; i < count; ++i) {
      // Beyond the end of the input this prefetches an arbitrary row, which does no harm.
      __builtin_prefetch(words_ + row_at(in[i + prefetch_distance].line), 1);
      look(in[i]);
    }
    return emitted;
  }
  // Prefetches the data that the search for a block will read, if it may not be in the first-level
  // cache.
  void prefetch(std::uint32_t block) const {
    if (kind_ == Kind::rows || kind_ == Kind::random_rows)
      __builtin_prefetch(words_ + row_at(block), 1);
  }
  // Prefetch distance in requests; `pass` reads its input so far beyond the end.
  static constexpr std::size_t prefetch_distance = 16;
  // Rows up to this size stay in the first-level cache and need no prefetch.
  static constexpr std::uint64_t first_level_bytes = 8192;
  void clear();

 private:
  enum class Kind : std::uint8_t { rows, random_rows, scanned, hashed };

  [[nodiscard]] std::uint64_t row_at(std::uint32_t block) const {
    const std::uint32_t set = mask_ != 0 ? block & mask_ : block % shape_.sets;
    return std::uint64_t{set} * width_;
  }
  std::uint32_t* row_of(std::uint32_t block) { return words_ + row_at(block); }

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
  Dice dice_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> memory_;
  std::uint32_t* words_ = nullptr;  // in memory_, 64-byte aligned

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
