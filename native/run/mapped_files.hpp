// Mapped files of the plan, whose pages can be in several memories.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "run/stack_objects.hpp"

namespace nearfar::run {

// Places a shared mapping of a file that the plan names; returns its object, or none.
Recognised place_mapped_file(void* begin, std::size_t bytes, int file, off_t offset);

// Whether an object is such a file.
bool is_planned_file(std::uint32_t object);
// Removes the placement of such a mapping: the kernel places its pages again.
void leave_mapped_file(void* begin, std::size_t bytes);

}  // namespace nearfar::run
