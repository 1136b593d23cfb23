// Around fork. Memory of files and devices is shared with the child by nature, so the child takes
// copies, and the parent waits until it has them.
#pragma once

namespace nearfar::run {

void places_before_fork();
void places_in_parent();
void places_in_child();

}  // namespace nearfar::run
