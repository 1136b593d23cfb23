// Reuse distances of touched lines, counted by phase and site: the miss-ratio curve.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// False if address space is short.
bool reserve_reuse();
void unlock_reuse();

// Whether touches of this sampled line (by ordinal) are looked at; they never take the short way
// of accesses that repeat, since a line's place among the others would grow stale.
bool reuse_looks_at(std::uint64_t line);
void count_reuse(std::uint32_t phase, std::uint16_t site, std::uint64_t line, bool store);

}  // namespace nearfar::profile
