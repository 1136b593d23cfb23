// One line at a time, inline, for random kernels: a call per line, or more instructions than
// needed, would fill the core's window and hide how many misses it can keep going.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nearfar::measure {

// One word is enough to make the line cross the bus.
inline std::uint64_t touch_line(const std::byte* line) {
  return *reinterpret_cast<const volatile std::uint64_t*>(line);
}

inline void dirty_line(std::byte* line, std::uint64_t value) {
  *reinterpret_cast<volatile std::uint64_t*>(line) = value;
}

// The whole line, past the caches where the processor can; stores_end() orders them. (A line that
// is stored in part would be read and merged.)
inline void nt_store_line(std::byte* line, std::uint64_t value) {
#if defined(__x86_64__)
  const __m128i both = _mm_set1_epi64x(static_cast<long long>(value));
  auto* part = reinterpret_cast<__m128i*>(line);
  for (unsigned i = 0; i < cache_line.count / sizeof(__m128i); ++i)
    _mm_stream_si128(part + i, both);
#else
  auto* word = reinterpret_cast<volatile std::uint64_t*>(line);
  for (unsigned i = 0; i < cache_line.count / sizeof(*word); ++i) word[i] = value;
#endif
}

inline void stores_end() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace nearfar::measure
