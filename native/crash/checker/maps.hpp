// The image as the checker maps it: privately, so that what it changes is gone with it.
#pragma once

namespace nearfar::crash {

// On until the process ends, or `false`: mapped as the checker says.
void keep_private(bool on);
bool keeps_private();
// What the checker unmapped goes.
void forget_maps();
// Holds 1 if another program was started that may have changed the image's file.
extern unsigned* touched;

}  // namespace nearfar::crash
