#include "measure/isa/operations.hpp"

#include <stdexcept>
#include <string>

#include "measure/isa/loops.hpp"

namespace nearfar::measure {
namespace {

std::vector<Operations> usable() {
  std::vector<Operations> available;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) available.push_back(avx512_operations());
  if (__builtin_cpu_supports("avx2")) available.push_back(avx2_operations());
  available.push_back(sse2_operations());
#endif
  available.push_back(scalar_operations());
  return available;
}

}  // namespace

const std::vector<Operations>& all_operations() {
  static const std::vector<Operations> all = usable();
  return all;
}

const Operations& operations(std::string_view isa) {
  if (isa.empty()) return operations();
  std::string names;
  for (const Operations& operations : all_operations()) {
    if (isa == operations.name) return operations;
    names += std::string(names.empty() ? "" : ", ") + operations.name;
  }
  throw std::invalid_argument("this processor has no instruction set '" + std::string(isa) +
                              "' for kernels; it has " + names);
}

}  // namespace nearfar::measure
