// Orders of kernels without links. next() returns the next access; the destructor adds the accesses
// to the lane's position.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "measure/cycle.hpp"
#include "measure/kernel.hpp"

namespace nearfar::measure {

// Accesses `stride` apart. At the lane's end a strided order restarts one access later than before,
// so that it visits all lines.
class InOrder {
 public:
  explicit InOrder(Lane& lane)
      : lane_(lane),
        access_(lane.shape.access_lines()),
        step_(lane.shape.stride_lines()),
        steps_((lane.lines - access_) / step_ + 1),
        rounds_(std::max<std::uint64_t>(step_ / access_, 1)) {
    const std::uint64_t round = lane.position / steps_ % rounds_;
    at_ = lane.position % steps_;
    shift_ = round * access_;
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder() { lane_.position += done_; }

  std::byte* next() {
    if (at_ == steps_) {
      at_ = 0;
      shift_ += access_;
      if (shift_ == rounds_ * access_) shift_ = 0;
    }
    // The last steps of a shifted round may exceed the lane: they wrap to its first lines.
    std::uint64_t first = at_ * step_ + shift_;
    if (first + access_ > lane_.lines) first = shift_;
    ++at_;
    ++done_;
    return lane_.line(first);
  }

 private:
  Lane& lane_;
  std::uint64_t access_;
  std::uint64_t step_;
  std::uint64_t steps_;
  std::uint64_t rounds_;
  std::uint64_t at_;
  std::uint64_t shift_;
  std::uint64_t done_ = 0;
};

// Accesses in random order: each once per pass over a window, then the next window. It has no table
// and few instructions: more would fill the core's window and hide how many misses it overlaps.
class Scattered {
 public:
  explicit Scattered(Lane& lane) : lane_(lane) {
    const Shape& shape = lane.shape;
    bytes_ = std::max(shape.stride, shape.access).count;
    const std::uint64_t slots = (lane.lines * cache_line.count - shape.access.count) / bytes_ + 1;
    window_ = shape.window.count == 0 ? slots : std::min(shape.window.count / bytes_, slots);
    windows_ = slots / window_;
    mask_ = std::bit_ceil(window_) - 1;
    // Mixes the upper half of a number into the lower half, whose period is short by itself.
    mix_ = std::max((static_cast<unsigned>(std::bit_width(mask_)) + 1) / 2, 1U);
    state_ = scatter_at(lane.position + lane.skipped);
    left_ = window_ - lane.position % window_;
    window_number_ = lane.position / window_ % windows_;
    base_ = lane.base + window_number_ * window_ * bytes_;
  }
  Scattered(const Scattered&) = delete;
  Scattered& operator=(const Scattered&) = delete;
  ~Scattered() {
    lane_.position += done_;
    lane_.skipped += skipped_;
  }

  std::byte* next() {
    if (left_ == 0) {
      left_ = window_;
      if (++window_number_ == windows_) window_number_ = 0;
      base_ = lane_.base + window_number_ * window_ * bytes_;
    }
    std::uint64_t slot = step();
    while (slot >= window_) {  // never if the window is a power of two
      ++skipped_;
      slot = step();
    }
    --left_;
    ++done_;
    return base_ + slot * bytes_;
  }

 private:
  std::uint64_t step() {
    const std::uint64_t low = state_ & mask_;
    state_ = scatter_next(state_);
    return low ^ (low >> mix_);  // a bijection
  }

  Lane& lane_;
  std::byte* base_;
  std::uint64_t bytes_;
  std::uint64_t window_;
  std::uint64_t windows_;
  std::uint64_t window_number_;
  std::uint64_t mask_;
  unsigned mix_;
  std::uint64_t state_;
  std::uint64_t left_;
  std::uint64_t done_ = 0;
  std::uint64_t skipped_ = 0;
};

// Calls block(first line, count) for `iterations` consecutive accesses from lane.position on,
// wrapping within the first `lines` lines of the lane.
template <typename Block>
void in_sequence(Lane& lane, std::uint64_t lines, std::uint64_t iterations, Block block) {
  const std::uint64_t access = lane.shape.access_lines();
  const std::uint64_t accesses = lines / access;
  while (iterations > 0) {
    const std::uint64_t first = lane.position % accesses;
    const std::uint64_t count = std::min(iterations, accesses - first);
    block(first * access, count * access);
    lane.position += count;
    iterations -= count;
  }
}

// Starts of parallel arrays in a memory whose size is a power of two.
enum class Starts : std::uint8_t {
  staggered,  // offset from powers of two by a few pages and lines, as in most programs
  aliased,    // powers of two apart: same sets, banks and low address bits
};

// The `count` equal arrays of a kernel. It stores to the target memory if there is one, else to the
// last array.
class Arrays {
 public:
  Arrays(const Lane& lane, std::uint64_t count, Starts starts)
      : lane_(lane), lines_(lane.lines / (lane.target == nullptr ? count : count - 1)) {
    if (is_staggered(lines_, starts)) {
      lines_ -= stagger_lines;
      first_ = lane.target == nullptr ? 0 : stagger_lines;
    }
    target_ = lane.target == nullptr ? lane.line((count - 1) * lines_) : lane.target;
  }
  // Returns the number of lines that a lane without a target needs so that each of its arrays has
  // `lines`.
  [[nodiscard]] static std::uint64_t lane_lines(std::uint64_t lines, std::uint64_t count,
                                                Starts starts) {
    const std::uint64_t room = lines + stagger_lines;
    return count * (is_staggered(room, starts) ? room : lines);
  }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }  // per array
  [[nodiscard]] std::byte* target(std::uint64_t line) const {
    return target_ + line * cache_line.count;
  }
  [[nodiscard]] const std::byte* source(std::uint64_t number, std::uint64_t line) const {
    return lane_.line(first_ + number * lines_ + line);
  }

 private:
  // 17 pages and 17 lines. Arrays below 4 MiB, which fit in caches, are not staggered.
  static constexpr std::uint64_t stagger_lines = 17 * (4096 / cache_line.count + 1);
  [[nodiscard]] static bool is_staggered(std::uint64_t lines, Starts starts) {
    return starts == Starts::staggered && lines >= stagger_lines * 64;
  }

  const Lane& lane_;
  std::uint64_t lines_;
  std::uint64_t first_ = 0;
  std::byte* target_;
};

}  // namespace nearfar::measure
