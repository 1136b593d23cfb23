// Handlers around fork. A child shares the memory of files and devices with its parent, so it makes
// copies, and the parent waits until the copies are complete.
#pragma once

namespace nearfar::run {

void places_before_fork();
void places_in_parent();
void places_in_child();

}  // namespace nearfar::run
