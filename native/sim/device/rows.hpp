// Looks a block up in one row, by vector compares.
//
// Three versions with equal results. `Scalar` is the reference. The others carry their instruction
// set as an attribute, and callers compiled for it (dispatch.hpp) inline them.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/device/isa.hpp"
#include "sim/device/words.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfar::sim {

struct Scalar {
  static constexpr Isa isa = Isa::scalar;

  // Position of the block among the first `count` words, or `count`.
  static unsigned find(const std::uint32_t* row, unsigned count, std::uint32_t tag) {
    unsigned at = 0;
    while (at < count && (row[at] & ~1U) != tag) ++at;
    return at;
  }
  // Positions in a row of `width` words that hold the block, as bits. `clean`: no word is dirty.
  template <unsigned width, bool clean>
  static std::uint32_t matches(const std::uint32_t* row, std::uint32_t tag) {
    std::uint32_t found = 0;
    for (unsigned at = 0; at < width; ++at) {
      found |= ((clean ? row[at] : row[at] & ~1U) == tag ? 1U : 0U) << at;
    }
    return found;
  }
};

#if defined(__x86_64__)

#define NEARFAR_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define NEARFAR_AVX512 __attribute__((target("avx2,bmi,bmi2,avx512f,avx512vl")))

struct Avx2 {
  static constexpr Isa isa = Isa::avx2;

  template <bool clean = false>
  NEARFAR_AVX2 static __m256i compared(const std::uint32_t* words, std::uint32_t tag) {
    const __m256i held = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
    const __m256i tags = clean ? held : _mm256_andnot_si256(_mm256_set1_epi32(1), held);
    return _mm256_cmpeq_epi32(tags, _mm256_set1_epi32(static_cast<int>(tag)));
  }
  NEARFAR_AVX2 static std::uint32_t bits(__m256i same) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
  }
  // Rows are padded with empty words to a multiple of 16.
  NEARFAR_AVX2 static unsigned find(const std::uint32_t* row, unsigned count, std::uint32_t tag) {
    unsigned at = 0;
    // Four vectors per branch: most searches fail, and branches dominate their cost.
    for (; at + 24 < count; at += 32) {
      const __m256i first = compared(row + at, tag);
      const __m256i second = compared(row + at + 8, tag);
      const __m256i third = compared(row + at + 16, tag);
      const __m256i fourth = compared(row + at + 24, tag);
      const __m256i half = _mm256_or_si256(first, second);
      if (bits(_mm256_or_si256(half, _mm256_or_si256(third, fourth))) == 0) continue;
      const std::uint32_t same =
          bits(first) | bits(second) << 8U | bits(third) << 16U | bits(fourth) << 24U;
      return at + static_cast<unsigned>(std::countr_zero(same));
    }
    for (; at < count; at += 8) {
      const std::uint32_t same = bits(compared(row + at, tag));
      if (same != 0) return at + static_cast<unsigned>(std::countr_zero(same));
    }
    return count;
  }
  template <unsigned width, bool clean>
  NEARFAR_AVX2 static std::uint32_t matches(const std::uint32_t* row, std::uint32_t tag) {
    if constexpr (width == 4) {
      return Scalar::matches<width, clean>(row, tag);
    } else if constexpr (width == 8) {
      return bits(compared<clean>(row, tag));
    } else {
      const __m256i first = compared<clean>(row, tag);
      const __m256i second = compared<clean>(row + 8, tag);
      if (bits(_mm256_or_si256(first, second)) == 0) return 0;
      return bits(first) | bits(second) << 8U;
    }
  }
};

struct Avx512 {
  static constexpr Isa isa = Isa::avx512;

  template <bool clean = false>
  NEARFAR_AVX512 static std::uint32_t equal(__m512i held, std::uint32_t tag) {
    const __m512i tags = clean ? held : _mm512_andnot_si512(_mm512_set1_epi32(1), held);
    return _mm512_cmpeq_epi32_mask(tags, _mm512_set1_epi32(static_cast<int>(tag)));
  }
  NEARFAR_AVX512 static unsigned find(const std::uint32_t* row, unsigned count, std::uint32_t tag) {
    unsigned at = 0;
    // Two rows per branch: most searches fail, and branches dominate their cost.
    for (; at + 16 < count; at += 32) {
      const std::uint32_t same = equal(_mm512_loadu_si512(row + at), tag) |
                                 equal(_mm512_loadu_si512(row + at + 16), tag) << 16U;
      if (same != 0) return at + static_cast<unsigned>(std::countr_zero(same));
    }
    for (; at < count; at += 16) {
      const std::uint32_t same = equal(_mm512_loadu_si512(row + at), tag);
      if (same != 0) return at + static_cast<unsigned>(std::countr_zero(same));
    }
    return count;
  }
  template <unsigned width, bool clean>
  NEARFAR_AVX512 static std::uint32_t matches(const std::uint32_t* row, std::uint32_t tag) {
    if constexpr (width == 16) {
      return equal<clean>(_mm512_loadu_si512(row), tag);
    } else {
      return Avx2::matches<width, clean>(row, tag);
    }
  }
};

#else
using Avx2 = Scalar;
using Avx512 = Scalar;
#define NEARFAR_AVX2
#define NEARFAR_AVX512
#endif

}  // namespace nearfar::sim
