// Compiles a job for each instruction set and runs the requested version.
#pragma once

#include <utility>

#include "sim/device/isa.hpp"
#include "sim/device/rows.hpp"

namespace nearfar::sim {

// `flatten` inlines everything that the job calls, so that the vector look-ups can be inlined too.
// A function compiled for a smaller instruction set could only call them. `noinline` keeps a job
// that another one dispatches a function of its own, whose loops have all registers.
template <typename Job, typename... Arguments>
NEARFAR_AVX512 __attribute__((flatten, noinline)) auto with_avx512(Arguments&&... arguments) {
  return Job::template with<Avx512>(std::forward<Arguments>(arguments)...);
}
template <typename Job, typename... Arguments>
NEARFAR_AVX2 __attribute__((flatten, noinline)) auto with_avx2(Arguments&&... arguments) {
  return Job::template with<Avx2>(std::forward<Arguments>(arguments)...);
}

// Job::with<Vector>(arguments...), Vector being Scalar, Avx2 or Avx512.
template <typename Job, typename... Arguments>
auto dispatch(Isa isa, Arguments&&... arguments) {
  switch (isa) {
    case Isa::avx512:
      return with_avx512<Job>(std::forward<Arguments>(arguments)...);
    case Isa::avx2:
      return with_avx2<Job>(std::forward<Arguments>(arguments)...);
    case Isa::scalar:
      break;
  }
  return Job::template with<Scalar>(std::forward<Arguments>(arguments)...);
}

}  // namespace nearfar::sim
