// What is where: the table of extents, which the verb reads.
#pragma once

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

void remember(std::uint64_t begin, std::uint64_t bytes, unsigned target, std::uint32_t memory);
// Takes a range out of the table, and back from the memories that had it.
void forget(std::uint64_t begin, std::uint64_t bytes);
void extents_in_child();

}  // namespace nearfar::run
