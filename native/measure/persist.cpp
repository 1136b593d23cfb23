#include "measure/persist.hpp"

#include "base/units.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace nearfar::measure {
namespace {

#if defined(__x86_64__)

void* line_of(const std::byte* first, std::uint64_t i) {
  return const_cast<std::byte*>(first) + i * cache_line.count;
}
__attribute__((target("clwb"))) void clwb(const std::byte* first, std::uint64_t lines) {
  for (std::uint64_t i = 0; i < lines; ++i) _mm_clwb(line_of(first, i));
}
__attribute__((target("clflushopt"))) void clflushopt(const std::byte* first, std::uint64_t lines) {
  for (std::uint64_t i = 0; i < lines; ++i) _mm_clflushopt(line_of(first, i));
}
void clflush(const std::byte* first, std::uint64_t lines) {
  for (std::uint64_t i = 0; i < lines; ++i) _mm_clflush(line_of(first, i));
}

Flushes detect() {
  Flushes available;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    if ((b & bit_CLWB) != 0) available.clwb = clwb;
    if ((b & bit_CLFLUSHOPT) != 0) available.clflushopt = clflushopt;
  }
  constexpr unsigned bit_clfsh = 1U << 19U;  // leaf 1, EDX
  if (__get_cpuid(1, &a, &b, &c, &d) != 0 && (d & bit_clfsh) != 0) available.clflush = clflush;
  return available;
}

#elif defined(__aarch64__)

void cvap(const std::byte* first, std::uint64_t lines) {
  for (std::uint64_t i = 0; i < lines; ++i) {
    // DC CVAP is given by its encoding, because assemblers accept the name only for ARMv8.2.
    asm volatile("sys #3, c7, c12, #1, %0" ::"r"(first + i * cache_line.count) : "memory");
  }
}
void civac(const std::byte* first, std::uint64_t lines) {
  for (std::uint64_t i = 0; i < lines; ++i) {
    asm volatile("dc civac, %0" ::"r"(first + i * cache_line.count) : "memory");
  }
}

Flushes detect() {
  constexpr unsigned long dcpop = 1UL << 16U;  // HWCAP_DCPOP
  return {.clwb = (getauxval(AT_HWCAP) & dcpop) != 0 ? cvap : nullptr, .clflush = civac};
}

#else

Flushes detect() { return {}; }

#endif

}  // namespace

const Flushes& flushes() {
  static const Flushes available = detect();
  return available;
}

}  // namespace nearfar::measure
