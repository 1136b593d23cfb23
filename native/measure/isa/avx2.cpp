// Operations on 32 bytes. Compiled with -mavx2; called only if the processor has it.
#include <immintrin.h>

#include "measure/isa/loops.hpp"

namespace nearfar::measure {
namespace {

struct Avx2 {
  using Vector = __m256i;
  static Vector load(const Vector* at) { return _mm256_load_si256(at); }
  static Vector nt_load(const Vector* at) { return _mm256_stream_load_si256(at); }
  static void store(Vector* at, Vector value) { _mm256_store_si256(at, value); }
  static void stream(Vector* at, Vector value) { _mm256_stream_si256(at, value); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
  static Vector exclusive_or(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm256_mul_epu32(a, b); }
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector set(std::uint64_t value) {
    return _mm256_set1_epi64x(static_cast<long long>(value));
  }
  static std::uint64_t sum(Vector all) {
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    const __m128i high = _mm_unpackhi_epi64(half, half);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(half, high)));
  }
};

std::uint64_t gather(const std::byte* base, const std::uint64_t* offsets) {
  const auto* from = reinterpret_cast<const long long*>(base);
  const auto* at = reinterpret_cast<const __m256i*>(offsets);
  const __m256i first = _mm256_i64gather_epi64(from, _mm256_loadu_si256(at), 1);
  const __m256i second = _mm256_i64gather_epi64(from, _mm256_loadu_si256(at + 1), 1);
  return Avx2::sum(_mm256_add_epi64(first, second));
}

constexpr Operations table_of() {
  Operations operations = Loops<Avx2>::table("avx2", true);
  operations.nt_load = Loops<Avx2>::nt_load;
  operations.gather = gather;  // AVX2 has no scatter
  return operations;
}
constexpr Operations table = table_of();

}  // namespace

const Operations& avx2_operations() { return table; }

}  // namespace nearfar::measure
