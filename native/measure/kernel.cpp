#include "measure/kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace nearfar::measure {
namespace {

// Built on first use: static objects register kernels in unknown order.
std::vector<KernelEntry>& table() {
  static std::vector<KernelEntry> entries;
  return entries;
}

}  // namespace

double Kernel::loads_over_payload(const Shape& shape) const {
  const Traffic per_access = traffic(shape);
  return static_cast<double>(per_access.read.count) /
         static_cast<double>(per_access.payload().count);
}

std::uint64_t Kernel::each(Lane& /*lane*/, std::span<std::uint32_t> /*ticks*/,
                           std::uint64_t /*rest*/) const {
  throw std::logic_error("this kernel cannot time single accesses");
}

bool register_kernel(KernelEntry entry) {
  auto& entries = table();
  const auto position = std::ranges::lower_bound(entries, entry.name, {}, &KernelEntry::name);
  entries.insert(position, entry);
  return true;
}

const std::vector<KernelEntry>& kernels() { return table(); }

const Kernel& kernel(std::string_view name) {
  const auto& entries = table();
  const auto entry = std::ranges::find(entries, name, &KernelEntry::name);
  if (entry == entries.end()) throw std::out_of_range("unknown kernel " + std::string(name));
  return *entry->kernel;
}

}  // namespace nearfar::measure
