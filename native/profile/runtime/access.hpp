// The accesses that instrumented code reports.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// One access to a sampled line.
void access_line(std::uint64_t address, std::uint32_t site, bool store);
// Every sampled line of a range, once.
void access_range(std::uint64_t address, std::uint64_t size, std::uint32_t site, bool store);

// Copies what is known of an instruction to the process file.
void remember_instruction(std::uint32_t site);

}  // namespace nearfar::profile
