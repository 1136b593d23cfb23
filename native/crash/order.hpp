// Which thread goes on, drawn from the schedule's seed or as a file of choices says, and what its
// steps are about.
#pragma once

#include <cstdint>

#include "crash/schedule.hpp"

namespace nearfar::crash {

// Taken after the recorder's lock where both are needed: threads and their numbers do not change
// meanwhile.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whether the calling thread has it or waits for it, for signal handlers.
  static bool held_here();
};

void begin_order();
void end_order();
// Whether a file chooses.
bool by_choice();
// Returns a number drawn from the seed.
std::uint64_t draw();
// Whether another thread is drawn at this step.
bool draws_switch();
// Returns the thread that the file chooses, or `stay`, or the first after it that is ready (a bit
// for each of 64); -1 if there is none.
int choose(int stay, bool leaves, std::uint64_t ready);
// Records the choice of a thread that then does `step`. The recorder's lock is held.
void record_turn(int chosen, std::uint64_t ready, const Step& step);

}  // namespace nearfar::crash
