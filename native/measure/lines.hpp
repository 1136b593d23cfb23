// Loads and stores of whole lines, as wide as this processor has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nearfar::measure {

// Operations on `count` adjoining lines. A sum is that of all 64-bit words, modulo 2^64.
struct LineOperations {
  const char* name;  // instruction set: avx512, avx2, sse2, scalar
  std::uint64_t (*read)(const std::byte* from, std::uint64_t count);
  void (*write)(std::byte* to, std::uint64_t count, std::uint64_t value);
  // Past the caches, fenced at the end; ordinary stores where the processor has no such stores.
  void (*nt_store)(std::byte* to, std::uint64_t count, std::uint64_t value);
  // Loads, and stores past the caches as above; returns the sum of what it read.
  std::uint64_t (*copy)(std::byte* to, const std::byte* from, std::uint64_t count);
  bool has_nt_store;
};

// All that this processor can run, the widest first.
const std::vector<LineOperations>& all_line_operations();

// The widest, which every kernel uses.
inline const LineOperations& line_operations() { return all_line_operations().front(); }

}  // namespace nearfar::measure
