#include "sim/device/blocks.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace nearfar::sim {
namespace {

constexpr std::uint32_t row_words = 16;
constexpr std::uint32_t none = 0xFFFFFFFF;

unsigned width_for(std::uint32_t ways) { return ways <= 4 ? 4 : ways <= 8 ? 8 : row_words; }

}  // namespace

Blocks::Blocks(Shape shape, std::uint64_t seed)
    : shape_(shape), kind_(Kind::rows), dice_(seed), seed_(seed) {
  if (shape.sets == 0 || shape.ways == 0 ||
      std::uint64_t{shape.sets} * shape.ways >= max_blocks / 2) {
    throw std::invalid_argument("a cache must hold 1 to 2^30 - 1 blocks");
  }
  if (shape.sets > 1 && shape.ways > max_row_ways) {
    throw std::invalid_argument("more than 16 ways are possible only in a single set");
  }
  if (shape.ways <= max_row_ways) {
    kind_ = shape.replacement == Replacement::lru ? Kind::rows : Kind::random_rows;
    width_ = width_for(shape.ways);
    if (kind_ == Kind::random_rows) width_ = row_words;  // `find` searches whole rows
    mask_ = std::has_single_bit(shape.sets) ? shape.sets - 1 : 0;
  } else if (shape.replacement == Replacement::random && shape.ways <= max_scanned_ways) {
    kind_ = Kind::scanned;
    held_.resize(std::size_t{1} << hash_bits);
    width_ = (shape.ways + row_words - 1) / row_words * row_words;
  } else {
    kind_ = Kind::hashed;
    width_ = shape.ways;
    const unsigned bits = static_cast<unsigned>(std::bit_width(shape.ways)) + 1;
    hash_shift_ = 64 - bits;
    index_.resize(std::size_t{1} << bits);
    newer_.resize(shape.ways);
    older_.resize(shape.ways);
  }
  if (kind_ == Kind::rows) recency_.resize(shape.sets);
  memory_.resize(std::size_t{shape.sets} * width_ + row_words);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  words_ = memory_.data() + (64 - address % 64) % 64 / sizeof(std::uint32_t);
  clear();
}

void Blocks::clear() {
  std::fill(memory_.begin(), memory_.end(), empty_word);
  std::fill(index_.begin(), index_.end(), 0);
  std::fill(held_.begin(), held_.end(), 0);
  std::fill(recency_.begin(), recency_.end(), Recency{});
  dice_ = Dice(seed_);
  clean_ = true;
  used_ = 0;
  first_ = last_ = none;
}

LookupResult Blocks::hashed(std::uint32_t block, bool write) {
  const auto mask = static_cast<std::uint32_t>(index_.size() - 1);
  const bool lru = shape_.replacement == Replacement::lru;
  for (std::uint32_t at = home(block); index_[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t slot = index_[at] - 1;
    if (words_[slot] >> 1U != block) continue;
    words_[slot] |= write ? 1U : 0U;
    if (lru && slot != first_) {
      unlink(slot);
      put_first(slot);
    }
    return {true, empty_word};
  }
  std::uint32_t slot = used_;
  LookupResult result;
  if (used_ < shape_.ways) {
    ++used_;
  } else {
    slot = lru ? last_ : dice_.below(shape_.ways);
    result.evicted = words_[slot];
    forget(result.evicted_block());
    if (lru) unlink(slot);
  }
  words_[slot] = block << 1U | (write ? 1U : 0U);
  std::uint32_t at = home(block);
  while (index_[at] != 0) at = (at + 1) & mask;
  index_[at] = slot + 1;
  if (lru) put_first(slot);
  return result;
}

// Deletes from open addressing without tombstones (Knuth, volume 3, 6.4, algorithm R).
void Blocks::forget(std::uint32_t block) {
  const auto mask = static_cast<std::uint32_t>(index_.size() - 1);
  std::uint32_t hole = home(block);
  while (words_[index_[hole] - 1] >> 1U != block) hole = (hole + 1) & mask;
  for (std::uint32_t at = (hole + 1) & mask; index_[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t wanted = home(words_[index_[at] - 1] >> 1U);
    if (((at - wanted) & mask) >= ((at - hole) & mask)) {
      index_[hole] = index_[at];
      hole = at;
    }
  }
  index_[hole] = 0;
}

void Blocks::unlink(std::uint32_t slot) {
  const std::uint32_t newer = newer_[slot];
  const std::uint32_t older = older_[slot];
  (newer == none ? first_ : older_[newer]) = older;
  (older == none ? last_ : newer_[older]) = newer;
}

void Blocks::put_first(std::uint32_t slot) {
  newer_[slot] = none;
  older_[slot] = first_;
  (first_ == none ? last_ : newer_[first_]) = slot;
  first_ = slot;
}

}  // namespace nearfar::sim
