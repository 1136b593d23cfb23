// What made content durable, and what it survives: said with every result.
#pragma once

#include <string>

namespace nearfar::bench {

struct Durability {
  std::string instructions = "none";  // clwb, clflushopt, clflush, fence only, msync, none
  std::string survives = "nothing: volatile memory";
};

// Of a file mapped by libpmem; `is_pmem` as it says (pmem_is_pmem, or forced).
Durability durability_of(const std::string& path, bool is_pmem);

}  // namespace nearfar::bench
