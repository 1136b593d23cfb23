#include "measure/kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace nearfar::measure {
namespace {

// Built on first use: kernels register while static objects are made, in no known order.
std::vector<KernelEntry>& table() {
  static std::vector<KernelEntry> entries;
  return entries;
}

}  // namespace

double Kernel::loads_over_payload(const Shape& shape) const {
  const Traffic one = traffic(shape);
  return static_cast<double>(one.read.count) / static_cast<double>(one.payload().count);
}

std::uint64_t Kernel::each(Lane& /*lane*/, std::span<std::uint32_t> /*ticks*/,
                           std::uint64_t /*rest*/) const {
  throw std::logic_error("this kernel's accesses cannot be timed one by one");
}

bool register_kernel(KernelEntry entry) {
  auto& entries = table();
  const auto place = std::ranges::lower_bound(entries, entry.name, {}, &KernelEntry::name);
  entries.insert(place, entry);
  return true;
}

const std::vector<KernelEntry>& kernels() { return table(); }

const Kernel& kernel(std::string_view name) {
  const auto& entries = table();
  const auto found = std::ranges::find(entries, name, &KernelEntry::name);
  if (found == entries.end()) throw std::out_of_range("there is no kernel " + std::string(name));
  return *found->kernel;
}

}  // namespace nearfar::measure
