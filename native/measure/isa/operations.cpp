#include "measure/isa/operations.hpp"

#include <stdexcept>
#include <string>

#include "measure/isa/loops.hpp"

namespace nearfar::measure {
namespace {

std::vector<Operations> usable() {
  std::vector<Operations> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) found.push_back(avx512_operations());
  if (__builtin_cpu_supports("avx2")) found.push_back(avx2_operations());
  found.push_back(sse2_operations());
#endif
  found.push_back(scalar_operations());
  return found;
}

}  // namespace

const std::vector<Operations>& all_operations() {
  static const std::vector<Operations> found = usable();
  return found;
}

const Operations& operations(std::string_view isa) {
  if (isa.empty()) return operations();
  std::string there;
  for (const Operations& one : all_operations()) {
    if (isa == one.name) return one;
    there += std::string(there.empty() ? "" : ", ") + one.name;
  }
  throw std::invalid_argument("this processor has no instruction set '" + std::string(isa) +
                              "' for kernels; it has " + there);
}

}  // namespace nearfar::measure
