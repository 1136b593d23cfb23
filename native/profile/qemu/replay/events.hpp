// One event of the ring at a time.
#pragma once

#include <cstdint>

#include "profile/qemu/ring.h"

namespace nearfar::profile {

void handle(const nf_ring& ring, const nf_ring_event& event);
// The phase is about to change: attributes the counts so far to it.
void end_stretch();
const char* path_at(const nf_ring& ring, std::uint64_t place);

}  // namespace nearfar::profile
