// Operations on a line. Compiled with -mavx512f; called only if the processor has it.
#include <immintrin.h>

#include "measure/isa/loops.hpp"

namespace nearfar::measure {
namespace {

struct Avx512 {
  using Vector = __m512i;
  static Vector load(const Vector* at) { return _mm512_load_si512(at); }
  static Vector nt_load(const Vector* at) {
    return _mm512_stream_load_si512(
        const_cast<Vector*>(at));  // older headers take a mutable pointer
  }
  static void store(Vector* at, Vector value) { _mm512_store_si512(at, value); }
  static void stream(Vector* at, Vector value) { _mm512_stream_si512(at, value); }
  static Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
  static Vector exclusive_or(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm512_mul_epu32(a, b); }
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector set(std::uint64_t value) {
    return _mm512_set1_epi64(static_cast<long long>(value));
  }
  static std::uint64_t sum(Vector all) {
    return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(all));
  }
};

std::uint64_t gather(const std::byte* base, const std::uint64_t* offsets) {
  return Avx512::sum(_mm512_i64gather_epi64(_mm512_loadu_si512(offsets), base, 1));
}

void scatter(std::byte* base, const std::uint64_t* offsets, std::uint64_t value) {
  _mm512_i64scatter_epi64(base, _mm512_loadu_si512(offsets), Avx512::set(value), 1);
}

constexpr Operations table_of() {
  Operations operations = Loops<Avx512>::table("avx512", true);
  operations.nt_load = Loops<Avx512>::nt_load;
  operations.gather = gather;
  operations.scatter = scatter;
  return operations;
}
constexpr Operations table = table_of();

}  // namespace

const Operations& avx512_operations() { return table; }

}  // namespace nearfar::measure
