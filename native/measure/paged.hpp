// Pages that leave memory for swap and come back at a touch: the time of either, per page.
#pragma once

#include <cstdint>
#include <string_view>
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

// Data of a page: what a compressor does with it takes different times.
enum class PageData : std::uint8_t {
  records,  // of 32 bytes, the smallest block of glibc's malloc: 8 random ones, the rest zero
  noise,    // random bytes: nothing repeats
  words,    // 64 words of 4 to 11 bytes in random order, up to 3 random bytes between them
};

// Throws std::invalid_argument for another name than these.
PageData page_data(std::string_view name);

// Anonymous memory of this process; with `huge`, of transparent huge pages where there are some.
class PagedRegion {
 public:
  PagedRegion(Bytes size, bool huge);
  PagedRegion(const PagedRegion&) = delete;
  PagedRegion& operator=(const PagedRegion&) = delete;
  ~PagedRegion();

  // Writes every page; every page differs.
  void fill(PageData data, std::uint64_t seed);
  // Mean work of a compressor on a page (PageContent::work), over the first pages.
  [[nodiscard]] std::uint64_t compression_work() const;
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
