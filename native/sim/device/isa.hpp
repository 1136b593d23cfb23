// Instruction sets for look-ups, chosen at run time; results are equal.
#pragma once

#include <vector>

namespace nearfar::sim {

enum class Isa { scalar, avx2, avx512 };

// Returns the instruction sets of this processor, best first.
inline std::vector<Isa> usable_isas() {
  std::vector<Isa> usable;
#if defined(__x86_64__)
  // Code for vectors uses these too (rows.hpp); a virtual machine may hide them.
  const bool bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (bits && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    usable.push_back(Isa::avx512);
  }
  if (bits && __builtin_cpu_supports("avx2")) usable.push_back(Isa::avx2);
#endif
  usable.push_back(Isa::scalar);
  return usable;
}

constexpr const char* name_of(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "scalar";
}

}  // namespace nearfar::sim
