// Private mappings of the image, so that a checker's changes vanish with them.
#pragma once

namespace nearfar::crash {

// Turns private mappings on or off; off: mapped as the checker requests.
void keep_private(bool on);
bool keeps_private();
// Removes hidden mappings.
void forget_maps();
// 1 if the checker started another program, which may have changed the image's file.
extern unsigned* may_have_changed;

}  // namespace nearfar::crash
