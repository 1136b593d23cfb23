// Private mappings of the image, so that a checker's changes vanish with them.
#pragma once

namespace nearfar::crash {

// Turns private mappings on or off; off: mapped as the checker requests.
void keep_private(bool on);
bool keeps_private();
// Removes hidden mappings.
void forget_maps();
// From here on, mappings of the image that are only read stay for the next check: mapping a pool
// and its page faults can take longer than a check.
void keep_read_only_maps();
// 1 if the checker started another program, which may have changed the image's file.
extern unsigned* may_have_changed;

}  // namespace nearfar::crash
