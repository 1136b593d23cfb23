// Copy-on-write pages as a program for `nearfar crash`, and its checker.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "bench/pages/page_table.hpp"

namespace nearfar::bench {

using PageContent = std::array<std::uint64_t, PageTable::page_bytes / sizeof(std::uint64_t)>;

inline std::span<std::uint64_t> page_words(const PageTable& table, std::uint64_t page) {
  return {reinterpret_cast<std::uint64_t*>(table.content(page)), PageContent{}.size()};
}

void drive_pages(const std::string& path, std::uint64_t operations, std::uint64_t seed);
// Throws unless every page is a complete version of itself.
void check_pages(const std::string& path);
// Prints each replaced page and its version.
void dump_pages(const std::string& path);

}  // namespace nearfar::bench
