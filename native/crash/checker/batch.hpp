// Judges a batch of states: patches each into the image, calls the checker and removes the patch.
#pragma once

#include "crash/checker/messages.hpp"

namespace nearfar::crash {

struct Judged {
  int result;         // result of the last call
  unsigned accepted;  // accepted states, the last one included if `result` is 0
};

// Stops after a state that is refused or whose check changed the file. If `states` is 0, judges the
// image as it is.
Judged judge_batch(Batch* batch, unsigned states, int (*check)());

}  // namespace nearfar::crash
