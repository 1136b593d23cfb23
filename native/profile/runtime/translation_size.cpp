#include "profile/runtime/translation_size.hpp"

#include <cpuid.h>

#include <initializer_list>

namespace nearfar::profile {

namespace {

// Skylake to Ice Lake and Zen have 1536 to 2048 entries; virtual machines may hide the number.
constexpr TranslationSize usual{1536, false};

struct Registers {
  unsigned a, b, c, d;
};

bool read_cpuid(unsigned leaf, unsigned part, Registers& r) {
  return __get_cpuid_count(leaf, part, &r.a, &r.b, &r.c, &r.d) != 0;
}

// Intel SDM, CPUID leaf 18H: one TLB per sub-leaf.
std::uint32_t from_parameters() {
  std::uint32_t largest = 0;
  Registers r{};
  if (!read_cpuid(0x18, 0, r)) return 0;
  const unsigned parts = r.a;
  constexpr unsigned max_parts = 32;
  for (unsigned part = 0; part <= parts && part < max_parts; ++part) {
    if (!read_cpuid(0x18, part, r)) break;
    const unsigned type = r.d & 31;  // 1: data, 3: unified, 4 and 5: loads, stores
    const bool small_pages = (r.b & 1) != 0;
    const std::uint32_t entries = (r.b >> 16) * r.c;
    if ((type == 1 || type == 3) && small_pages && entries > largest) largest = entries;
  }
  return largest;
}

// Intel SDM, CPUID leaf 2: one descriptor per byte.
std::uint32_t from_descriptors() {
  Registers r{};
  if (!read_cpuid(2, 0, r)) return 0;
  std::uint32_t largest = 0;
  for (const unsigned word : {r.a & ~0xFFu, r.b, r.c, r.d}) {
    if ((word >> 31) != 0) continue;
    for (unsigned shift = 0; shift < 32; shift += 8) {
      std::uint32_t entries = 0;
      switch (word >> shift & 0xFF) {
        case 0xC3:
          entries = 1536;
          break;
        case 0xC1:
          entries = 1024;
          break;
        case 0xCA:
          entries = 512;
          break;
        default:
          break;
      }
      if (entries > largest) largest = entries;
    }
  }
  return largest;
}

// AMD APM, CPUID leaf 8000_0006H: EBX 27:16, second-level TLB entries for data in 4 KiB pages.
std::uint32_t from_amd() {
  Registers r{};
  if (__get_cpuid(0x80000006, &r.a, &r.b, &r.c, &r.d) == 0) return 0;
  return (r.b >> 28) == 0 ? 0 : r.b >> 16 & 0xFFF;
}

}  // namespace

TranslationSize translation_size() {
  Registers r{};
  if (__get_cpuid(0, &r.a, &r.b, &r.c, &r.d) == 0) return usual;
  const bool intel = r.b == signature_INTEL_ebx && r.d == signature_INTEL_edx;
  const bool amd = r.b == signature_AMD_ebx && r.d == signature_AMD_edx;
  std::uint32_t entries = 0;
  if (intel) {
    entries = from_parameters();
    if (entries < from_descriptors()) entries = from_descriptors();
  } else if (amd) {
    entries = from_amd();
  }
  // Fewer than 256 entries are a first-level TLB: the processor hides the second level.
  constexpr std::uint32_t min_entries = 256;
  return entries < min_entries ? usual : TranslationSize{entries, true};
}

}  // namespace nearfar::profile
