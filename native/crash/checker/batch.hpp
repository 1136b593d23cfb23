// Judges a batch of states: patches each into the image, calls the checker, takes it back.
#pragma once

#include "crash/checker/messages.hpp"

namespace nearfar::crash {

struct Judged {
  int result;         // of the last call
  unsigned accepted;  // states accepted before it, and it itself if the result is 0
};

// Stops after a state that is refused or whose check changed the file. With `states` 0 it judges
// the image as it is.
Judged judge_batch(Batch* batch, unsigned states, int (*check)());

}  // namespace nearfar::crash
