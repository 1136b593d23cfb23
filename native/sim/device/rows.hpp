// Looks a block up in one row: one vector compare and, for LRU, one permutation.
//
// Three versions with equal results. `Scalar` is the reference. The others carry their instruction
// set as an attribute, and callers compiled for it (dispatch.hpp) inline them.
#pragma once

#include <array>
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
  // Uses the row's first `ways` words. `tag` is the block number shifted past the dirty bit.
  static LookupResult lru(std::uint32_t* row, unsigned ways, unsigned /*width*/, std::uint32_t tag,
                          std::uint32_t write) {
    const unsigned position = find(row, ways, tag);
    const bool hit = position < ways;
    const unsigned last = hit ? position : ways - 1;
    const std::uint32_t old = row[last];
    for (unsigned i = last; i > 0; --i) row[i] = row[i - 1];
    row[0] = (hit ? old : tag) | write;
    return {hit, hit ? empty_word : old};
  }
};

#if defined(__x86_64__)

// Rotation i moves position i to the front and the positions before it back by 1.
template <unsigned width>
struct Rotations {
  alignas(64) std::array<std::array<std::uint32_t, width>, width> of{};
  constexpr Rotations() {
    for (unsigned i = 0; i < width; ++i) {
      for (unsigned k = 0; k < width; ++k) of[i][k] = k == 0 ? i : k <= i ? k - 1 : k;
    }
  }
};
inline constexpr Rotations<16> rotations_of_16;
inline constexpr Rotations<8> rotations_of_8;

#define NEARFAR_AVX2 __attribute__((target("avx2,bmi")))
#define NEARFAR_AVX512 __attribute__((target("avx2,bmi,avx512f,avx512vl")))

struct Avx2 {
  static constexpr Isa isa = Isa::avx2;

  NEARFAR_AVX2 static __m256i compared(const std::uint32_t* words, std::uint32_t tag) {
    const __m256i held = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
    const __m256i tags = _mm256_andnot_si256(_mm256_set1_epi32(1), held);
    return _mm256_cmpeq_epi32(tags, _mm256_set1_epi32(static_cast<int>(tag)));
  }
  NEARFAR_AVX2 static std::uint32_t bits(__m256i same) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
  }
  NEARFAR_AVX2 static std::uint32_t equal(const std::uint32_t* words, std::uint32_t tag) {
    return bits(compared(words, tag));
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
      const std::uint32_t same = equal(row + at, tag);
      if (same != 0) return at + static_cast<unsigned>(std::countr_zero(same));
    }
    return count;
  }
  NEARFAR_AVX2 static __m256i rotated(__m256i held, unsigned at) {
    const auto* order = reinterpret_cast<const __m256i*>(rotations_of_8.of[at].data());
    return _mm256_permutevar8x32_epi32(held, _mm256_load_si256(order));
  }
  NEARFAR_AVX2 static __m256i with_first(__m256i held, std::uint32_t first) {
    return _mm256_blend_epi32(held, _mm256_set1_epi32(static_cast<int>(first)), 1);
  }
  NEARFAR_AVX2 static LookupResult lru(std::uint32_t* row, unsigned ways, unsigned width,
                                       std::uint32_t tag, std::uint32_t write) {
    if (width < 8) return Scalar::lru(row, ways, width, tag, write);
    std::uint32_t same = equal(row, tag);
    if (width == 16) same |= equal(row + 8, tag) << 8U;
    const bool hit = same != 0;
    const auto at = static_cast<unsigned>(std::countr_zero(same | 1U << (ways - 1)));
    const std::uint32_t old = row[at];
    const std::uint32_t front = (hit ? old : tag) | write;
    auto* near = reinterpret_cast<__m256i*>(row);
    const __m256i held = _mm256_load_si256(near);
    if (at >= 8) {
      auto* rest = reinterpret_cast<__m256i*>(row + 8);
      const std::uint32_t moved = row[7];
      _mm256_store_si256(rest, with_first(rotated(_mm256_load_si256(rest), at - 8), moved));
      _mm256_store_si256(near, with_first(rotated(held, 7), front));
    } else {
      _mm256_store_si256(near, with_first(rotated(held, at), front));
    }
    return {hit, hit ? empty_word : old};
  }
};

struct Avx512 {
  static constexpr Isa isa = Isa::avx512;

  NEARFAR_AVX512 static std::uint32_t equal(__m512i held, std::uint32_t tag) {
    const __m512i tags = _mm512_andnot_si512(_mm512_set1_epi32(1), held);
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
  NEARFAR_AVX512 static LookupResult lru(std::uint32_t* row, unsigned ways, unsigned width,
                                         std::uint32_t tag, std::uint32_t write) {
    if (width == 8) return lru_of_8(row, ways, tag, write);
    if (width != 16) return Avx2::lru(row, ways, width, tag, write);
    const __m512i held = _mm512_load_si512(row);
    const std::uint32_t same = equal(held, tag);
    const bool hit = same != 0;
    const auto at = static_cast<unsigned>(std::countr_zero(same | 1U << (ways - 1)));
    const std::uint32_t old = row[at];
    const std::uint32_t front = (hit ? old : tag) | write;
    const __m512i order = _mm512_load_si512(rotations_of_16.of[at].data());
    const __m512i moved = _mm512_permutexvar_epi32(order, held);
    _mm512_store_si512(row, _mm512_mask_set1_epi32(moved, 1, static_cast<int>(front)));
    return {hit, hit ? empty_word : old};
  }
  // Half a row, with masks: no branch on the position.
  NEARFAR_AVX512 static LookupResult lru_of_8(std::uint32_t* row, unsigned ways, std::uint32_t tag,
                                              std::uint32_t write) {
    auto* words = reinterpret_cast<__m256i*>(row);
    const __m256i held = _mm256_load_si256(words);
    const __m256i tags = _mm256_andnot_si256(_mm256_set1_epi32(1), held);
    const std::uint32_t same =
        _mm256_cmpeq_epi32_mask(tags, _mm256_set1_epi32(static_cast<int>(tag)));
    const bool hit = same != 0;
    const auto at = static_cast<unsigned>(std::countr_zero(same | 1U << (ways - 1)));
    const std::uint32_t old = row[at];
    const std::uint32_t front = (hit ? old : tag) | write;
    const auto* order = reinterpret_cast<const __m256i*>(rotations_of_8.of[at].data());
    const __m256i moved = _mm256_permutevar8x32_epi32(held, _mm256_load_si256(order));
    _mm256_store_si256(words, _mm256_mask_set1_epi32(moved, 1, static_cast<int>(front)));
    return {hit, hit ? empty_word : old};
  }
};

#else
using Avx2 = Scalar;
using Avx512 = Scalar;
#define NEARFAR_AVX2
#define NEARFAR_AVX512
#endif

}  // namespace nearfar::sim
