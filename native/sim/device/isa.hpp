// Which instruction set looks a set up: chosen at run time, with equal results.
#pragma once

#include <vector>

namespace nearfar::sim {

enum class Isa { scalar, avx2, avx512 };

// The best this processor has first, scalar last.
inline std::vector<Isa> usable_isas() {
  std::vector<Isa> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    found.push_back(Isa::avx512);
  }
  if (__builtin_cpu_supports("avx2")) found.push_back(Isa::avx2);
#endif
  found.push_back(Isa::scalar);
  return found;
}

constexpr const char* name_of(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "scalar";
}

}  // namespace nearfar::sim
