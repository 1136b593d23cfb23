// From a Worker to the Lane its kernel runs on, and back.
#pragma once

#include "measure/harness.hpp"

namespace nearfar::measure {

// Throws std::invalid_argument for what cannot work: a shape or number of chains the kernel lacks,
// a lane smaller than an access, an instruction that is missing; std::logic_error for memory that
// is not linked.
Lane lane_of(const Worker& worker);

// Links its memory if its kernel needs that, and forgets links that it will write over. Not while
// another worker runs on the same memory.
void make_ready(const Worker& worker);

// Notes how far the lane came, so that the next run goes on there.
void note_position(const Worker& worker, const Lane& lane);

}  // namespace nearfar::measure
