// Operations on 16 bytes, part of every x86-64 processor.
#include <emmintrin.h>

#include "measure/isa/loops.hpp"

namespace nearfar::measure {
namespace {

struct Sse2 {
  using Vector = __m128i;
  static Vector load(const Vector* at) { return _mm_load_si128(at); }
  static void store(Vector* at, Vector value) { _mm_store_si128(at, value); }
  static void stream(Vector* at, Vector value) { _mm_stream_si128(at, value); }
  static Vector add(Vector a, Vector b) { return _mm_add_epi64(a, b); }
  static Vector exclusive_or(Vector a, Vector b) { return _mm_xor_si128(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm_mul_epu32(a, b); }
  static Vector zero() { return _mm_setzero_si128(); }
  static Vector set(std::uint64_t value) { return _mm_set1_epi64x(static_cast<long long>(value)); }
  static std::uint64_t sum(Vector all) {
    const Vector high = _mm_unpackhi_epi64(all, all);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(all, high)));
  }
};

constexpr Operations table = Loops<Sse2>::table("sse2", true);

}  // namespace

const Operations& sse2_operations() { return table; }

}  // namespace nearfar::measure
