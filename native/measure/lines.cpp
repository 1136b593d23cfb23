#include "measure/lines.hpp"

#include <cstring>

#include "base/units.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfar::measure {
namespace {

constexpr std::uint64_t line_bytes = cache_line.count;
constexpr std::uint64_t words = line_bytes / sizeof(std::uint64_t);

// The form every processor runs. Volatile keeps the compiler from dropping or merging accesses.
std::uint64_t read_scalar(const std::byte* from, std::uint64_t count) {
  const auto* word = reinterpret_cast<const volatile std::uint64_t*>(from);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count * words; ++i) sum += word[i];
  return sum;
}

void write_scalar(std::byte* to, std::uint64_t count, std::uint64_t value) {
  auto* word = reinterpret_cast<volatile std::uint64_t*>(to);
  for (std::uint64_t i = 0; i < count * words; ++i) word[i] = value;
}

std::uint64_t copy_scalar(std::byte* to, const std::byte* from, std::uint64_t count) {
  const auto* source = reinterpret_cast<const volatile std::uint64_t*>(from);
  auto* target = reinterpret_cast<volatile std::uint64_t*>(to);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count * words; ++i) {
    const std::uint64_t word = source[i];
    sum += word;
    target[i] = word;
  }
  return sum;
}

constexpr LineOperations scalar{"scalar",     read_scalar, write_scalar,
                                write_scalar, copy_scalar, false};

#if defined(__x86_64__)

// One instruction set's four loops. They differ in the width of the register and in names only;
// a function must carry the target itself, so a template cannot do this.
// NOLINTBEGIN(bugprone-macro-parentheses): attributes and types cannot stand in parentheses
#define NEARFAR_LINE_OPERATIONS(isa, target_text, Vector, load, store, stream, add, zero, set) \
  __attribute__((target(target_text))) std::uint64_t sum_##isa(Vector lanes) {                 \
    alignas(line_bytes) std::uint64_t part[sizeof(Vector) / sizeof(std::uint64_t)];            \
    std::memcpy(part, &lanes, sizeof(lanes));                                                  \
    std::uint64_t sum = 0;                                                                     \
    for (const std::uint64_t lane : part) sum += lane;                                         \
    return sum;                                                                                \
  }                                                                                            \
  __attribute__((target(target_text)))                                                         \
  std::uint64_t read_##isa(const std::byte* from, std::uint64_t count) {                       \
    const auto* vector = reinterpret_cast<const Vector*>(from);                                \
    constexpr std::uint64_t per_line = line_bytes / sizeof(Vector);                            \
    Vector even = zero();                                                                      \
    Vector odd = zero();                                                                       \
    std::uint64_t line = 0;                                                                    \
    for (; line + 2 <= count; line += 2, vector += 2 * per_line) {                             \
      for (std::uint64_t i = 0; i < per_line; ++i) {                                           \
        even = add(even, load(vector + i));                                                    \
        odd = add(odd, load(vector + per_line + i));                                           \
      }                                                                                        \
    }                                                                                          \
    if (line < count) {                                                                        \
      for (std::uint64_t i = 0; i < per_line; ++i) even = add(even, load(vector + i));         \
    }                                                                                          \
    return sum_##isa(add(even, odd));                                                          \
  }                                                                                            \
  __attribute__((target(target_text))) void write_##isa(std::byte* to, std::uint64_t count,    \
                                                        std::uint64_t value) {                 \
    auto* vector = reinterpret_cast<Vector*>(to);                                              \
    const Vector lanes = set(static_cast<long long>(value));                                   \
    for (std::uint64_t i = 0; i < count * (line_bytes / sizeof(Vector)); ++i) {                \
      store(vector + i, lanes);                                                                \
    }                                                                                          \
  }                                                                                            \
  __attribute__((target(target_text))) void nt_store_##isa(std::byte* to, std::uint64_t count, \
                                                           std::uint64_t value) {              \
    auto* vector = reinterpret_cast<Vector*>(to);                                              \
    const Vector lanes = set(static_cast<long long>(value));                                   \
    for (std::uint64_t i = 0; i < count * (line_bytes / sizeof(Vector)); ++i) {                \
      stream(vector + i, lanes);                                                               \
    }                                                                                          \
    _mm_sfence();                                                                              \
  }                                                                                            \
  __attribute__((target(target_text)))                                                         \
  std::uint64_t copy_##isa(std::byte* to, const std::byte* from, std::uint64_t count) {        \
    const auto* source = reinterpret_cast<const Vector*>(from);                                \
    auto* goal = reinterpret_cast<Vector*>(to);                                                \
    Vector sum = zero();                                                                       \
    for (std::uint64_t i = 0; i < count * (line_bytes / sizeof(Vector)); ++i) {                \
      const Vector lanes = load(source + i);                                                   \
      sum = add(sum, lanes);                                                                   \
      stream(goal + i, lanes);                                                                 \
    }                                                                                          \
    _mm_sfence();                                                                              \
    return sum_##isa(sum);                                                                     \
  }                                                                                            \
  constexpr LineOperations isa{#isa, read_##isa, write_##isa, nt_store_##isa, copy_##isa, true};
// NOLINTEND(bugprone-macro-parentheses)

NEARFAR_LINE_OPERATIONS(sse2, "sse2", __m128i, _mm_load_si128, _mm_store_si128, _mm_stream_si128,
                        _mm_add_epi64, _mm_setzero_si128, _mm_set1_epi64x)
NEARFAR_LINE_OPERATIONS(avx2, "avx2", __m256i, _mm256_load_si256, _mm256_store_si256,
                        _mm256_stream_si256, _mm256_add_epi64, _mm256_setzero_si256,
                        _mm256_set1_epi64x)
NEARFAR_LINE_OPERATIONS(avx512, "avx512f", __m512i, _mm512_load_si512, _mm512_store_si512,
                        _mm512_stream_si512, _mm512_add_epi64, _mm512_setzero_si512,
                        _mm512_set1_epi64)

#endif

std::vector<LineOperations> usable() {
  std::vector<LineOperations> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) found.push_back(avx512);
  if (__builtin_cpu_supports("avx2")) found.push_back(avx2);
  found.push_back(sse2);  // part of x86-64
#endif
  found.push_back(scalar);
  return found;
}

}  // namespace

const std::vector<LineOperations>& all_line_operations() {
  static const std::vector<LineOperations> operations = usable();
  return operations;
}

}  // namespace nearfar::measure
