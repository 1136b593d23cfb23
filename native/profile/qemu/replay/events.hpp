// Handles one event of the ring.
#pragma once

#include <cstdint>

#include "profile/qemu/ring.h"

namespace nearfar::profile {

void handle(const nf_ring& ring, const nf_ring_event& event);
// Attributes the counts so far to the current phase, which is about to change.
void end_phase();
const char* path_at(const nf_ring& ring, std::uint64_t place);

}  // namespace nearfar::profile
