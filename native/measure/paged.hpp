// Pages that leave memory for swap and come back at a touch: the time of either, per page.
#pragma once

#include <cstdint>
#include <vector>

#include "base/os.hpp"
#include "base/units.hpp"

namespace nearfar::measure {

// Time of a stretch of one thread, or the sum over several.
struct Spent {
  Nanoseconds wall{};     // without the time in which another thread had the CPU
  Nanoseconds cpu{};      // of the thread, the kernel's part included
  std::uint64_t pages{};  // that moved
};

struct Sweep {
  Spent spent;
  std::vector<float> each_ns;  // of every touch; NaN: another thread had the CPU meanwhile
  std::uint64_t major{};       // faults that brought a page from swap
};

// Anonymous memory of this process; with `huge`, of transparent huge pages where there are some.
class PagedRegion {
 public:
  PagedRegion(Bytes size, bool huge);
  PagedRegion(const PagedRegion&) = delete;
  PagedRegion& operator=(const PagedRegion&) = delete;
  ~PagedRegion();

  // Writes every page: this share of each record of 32 bytes is random, the rest zero, so that a
  // compressor meets noise between bytes that repeat, as in data of programs. Every page differs.
  void fill(double random_share, std::uint64_t seed);
  // Asks the kernel to send all pages away (MADV_PAGEOUT). A drive may still be writing them then,
  // and written ones stay in memory until it is needed: see resident().
  Spent evict();
  // Pages that are in memory now.
  [[nodiscard]] std::uint64_t resident() const;
  // Touches every page once from one thread on each CPU, each its own part, all at once.
  [[nodiscard]] Sweep touch(const std::vector<unsigned>& cpus, bool write, bool in_order,
                            std::uint64_t seed);
  // Touches `count` pages at random from one thread on `cpu`; no single times.
  [[nodiscard]] Sweep touch_again(unsigned cpu, std::uint64_t count, std::uint64_t seed);
  [[nodiscard]] std::uint64_t pages() const { return size_.count / os::base_page.count; }

 private:
  Bytes size_;
  std::byte* data_;
};

}  // namespace nearfar::measure
