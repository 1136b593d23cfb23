// Positions of an object's large blocks: the offset of a byte within all memory of the object.
//
// A block gets the lowest free position with enough space. So the same calls give the same
// positions in every run, whatever addresses the blocks have: `nearfar profile` counts traffic by
// position, and `nearfar run` places ranges of positions.
#pragma once

#include <cstdint>

namespace nearfar {

class Positions {
 public:
  static constexpr std::uint64_t page = 4096;
  // Maximum number of free ranges; if there are more, the smallest are forgotten.
  static constexpr unsigned max_holes = 16;

  // Sizes are rounded down to whole pages, because allocators return up to a page more than was
  // requested, and each adds a different amount. The last bytes of a block then share positions
  // with the next block.
  static constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return bytes / page * page; }

  // Returns the position of a new block.
  std::uint64_t take(std::uint64_t bytes) {
    bytes = whole_pages(bytes);
    for (unsigned i = 0; i < count_; ++i) {
      Hole& hole = holes_[i];
      if (hole.end - hole.begin < bytes) continue;
      const std::uint64_t position = hole.begin;
      hole.begin += bytes;
      if (hole.begin == hole.end) erase(i);
      return position;
    }
    const std::uint64_t position = end_;
    end_ += bytes;
    return position;
  }

  // Frees the positions of a block or part of a block.
  void give(std::uint64_t begin, std::uint64_t bytes) {
    std::uint64_t end = begin + whole_pages(bytes);
    unsigned at = 0;
    while (at < count_ && holes_[at].end < begin) ++at;
    while (at < count_ && holes_[at].begin <= end) {
      if (holes_[at].begin < begin) begin = holes_[at].begin;
      if (holes_[at].end > end) end = holes_[at].end;
      erase(at);
    }
    if (end >= end_) {
      if (begin < end_) end_ = begin;
      return;
    }
    if (count_ == max_holes) {
      const unsigned least = smallest();
      if (holes_[least].end - holes_[least].begin >= end - begin) return;
      erase(least);
      if (least < at) --at;
    }
    for (unsigned i = count_; i > at; --i) holes_[i] = holes_[i - 1];
    holes_[at] = {begin, end};
    ++count_;
  }

  // End of all positions in use.
  std::uint64_t end() const { return end_; }

 private:
  struct Hole {
    std::uint64_t begin;
    std::uint64_t end;
  };

  void erase(unsigned at) {
    --count_;
    for (unsigned i = at; i < count_; ++i) holes_[i] = holes_[i + 1];
  }

  unsigned smallest() const {
    unsigned least = 0;
    for (unsigned i = 1; i < count_; ++i) {
      if (holes_[i].end - holes_[i].begin < holes_[least].end - holes_[least].begin) least = i;
    }
    return least;
  }

  std::uint64_t end_;
  unsigned count_;
  Hole holes_[max_holes];  // sorted and disjoint
};

}  // namespace nearfar
