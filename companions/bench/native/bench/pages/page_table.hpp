// Copy-on-write pages: a new version is made durable in a free slot, then 8 bytes of the table
// switch to it.
//
//   table   slot of each page, 8 bytes
//   slots   one per page, and some free ones
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/pool.hpp"

#ifdef NEARFAR_HAVE_PMEM

namespace nearfar::bench {

class PageTable {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // `spare`: number of additional slots.
  PageTable(RawPool& pool, std::uint64_t pages, std::uint64_t spare) noexcept;
  static Bytes bytes_for(std::uint64_t pages, std::uint64_t spare) noexcept;

  // Assigns a slot to each page; not durable yet.
  void make() noexcept;
  // Finds the free slots; returns an error of the table, or an empty string.
  std::string recover();

  [[nodiscard]] std::byte* content(std::uint64_t page) const noexcept { return slot(table_[page]); }
  // Replaces the page's content (page_bytes), durably and atomically.
  void replace(std::uint64_t page, const void* content);

 private:
  [[nodiscard]] std::byte* slot(std::uint64_t number) const noexcept {
    return slots_ + number * page_bytes;
  }
  RawPool& pool_;
  std::uint64_t* table_;
  std::byte* slots_;
  std::uint64_t pages_;
  std::uint64_t spare_;
  std::vector<std::uint64_t> free_;
};

}  // namespace nearfar::bench

#endif
