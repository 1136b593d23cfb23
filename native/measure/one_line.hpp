// One line at a time, inline, in 16-byte vectors that every 64-bit processor has: for random
// kernels, where wider registers change nothing and a call per line would.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nearfar::measure {

using Pair = std::uint64_t __attribute__((vector_size(16), may_alias));

inline std::uint64_t read_line(const std::byte* from) {
  const auto* pair = reinterpret_cast<const volatile Pair*>(from);
  const Pair sum = (pair[0] + pair[1]) + (pair[2] + pair[3]);
  return sum[0] + sum[1];
}

inline void write_line(std::byte* to, std::uint64_t value) {
  auto* pair = reinterpret_cast<volatile Pair*>(to);
  const Pair both{value, value};
  for (int i = 0; i < 4; ++i) pair[i] = both;
}

// Past the caches where the processor can; stores_end() orders them.
inline void nt_store_line(std::byte* to, std::uint64_t value) {
#if defined(__x86_64__)
  const __m128i both = _mm_set1_epi64x(static_cast<long long>(value));
  auto* pair = reinterpret_cast<__m128i*>(to);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(pair + i, both);
#else
  write_line(to, value);
#endif
}

inline void stores_end() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace nearfar::measure
