// What made the content durable, and what it survives; reported with every result.
#pragma once

#include <string>

namespace nearfar::bench {

struct Durability {
  std::string instructions = "none";  // clwb, clflushopt, clflush, fence only, msync, none
  std::string survives = "nothing: volatile memory";
};

// Durability of a file mapped by libpmem; `is_pmem` as reported by pmem_is_pmem, or forced.
Durability durability_of(const std::string& path, bool is_pmem);

}  // namespace nearfar::bench
