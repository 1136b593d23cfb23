// Pages that are swapped out and swapped in by a touch: the time of each direction, per page.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/os.hpp"
#include "base/units.hpp"

namespace nearfar::measure {

// Time of a measured stretch of one thread, or the sum over several threads.
struct Spent {
  Nanoseconds wall{};     // without the time in which another thread had the CPU
  Nanoseconds cpu{};      // CPU time of the thread, including time in the kernel
  std::uint64_t pages{};  // pages that moved
};

struct Sweep {
  Spent spent;
  std::vector<float> each_ns;  // of each touch; NaN: another thread had the CPU during it
  std::uint64_t major{};       // faults that read a page from swap
};

// Content of the pages, which determines the compressor's time.
enum class PageData : std::uint8_t {
  records,  // 32 bytes, the smallest block of glibc's malloc: 8 random, the rest zero
  noise,    // random bytes: nothing repeats
  words,    // 64 words of 4 to 11 bytes in random order, with up to 3 random bytes between them
};

// Throws std::invalid_argument for any other name.
PageData page_data(std::string_view name);

// Anonymous memory of this process; if `huge`, with transparent huge pages if the kernel has some.
class PagedRegion {
 public:
  PagedRegion(Bytes size, bool huge);
  PagedRegion(const PagedRegion&) = delete;
  PagedRegion& operator=(const PagedRegion&) = delete;
  ~PagedRegion();

  // Writes every page, each with different content.
  void fill(PageData data, std::uint64_t seed);
  // Mean work of a compressor on a page (PageContent::work), over the first pages.
  [[nodiscard]] std::uint64_t compression_work() const;
  // Asks the kernel to swap out all pages (MADV_PAGEOUT). The drive may still be writing them
  // afterwards, and written pages stay in memory until the memory is needed: see resident().
  Spent evict();
  // Returns the number of pages that are in memory now.
  [[nodiscard]] std::uint64_t resident() const;
  // Touches every page once. One thread per CPU, each with its own part, all at the same time.
  [[nodiscard]] Sweep touch(const std::vector<unsigned>& cpus, bool write, bool in_order,
                            std::uint64_t seed);
  // Touches `count` pages at random from one thread on `cpu`, without single times.
  [[nodiscard]] Sweep touch_again(unsigned cpu, std::uint64_t count, std::uint64_t seed);
  [[nodiscard]] std::uint64_t pages() const { return size_.count / os::base_page.count; }

 private:
  Bytes size_;
  std::byte* data_;
};

}  // namespace nearfar::measure
