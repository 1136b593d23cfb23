// Chooses the thread that continues, by the schedule's seed or by a file of choices, and describes
// the thread's next step.
#pragma once

#include <cstdint>

#include "crash/schedule.hpp"

namespace nearfar::crash {

// Lock of the schedule. If both locks are needed, it is taken after the recorder's lock. While it
// is held, threads and their numbers do not change.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whether the calling thread holds it or waits for it. For signal handlers.
  static bool held_here();
};

void begin_order();
void end_order();
// Whether a file of choices is used.
bool by_choice();
// Returns a random number from the seed's sequence.
std::uint64_t draw();
// Returns whether to switch to another thread at this step, chosen at random.
bool draws_switch();
// Returns the thread that the file chooses; without a choice, `stay` or the next ready thread after
// it; -1 if no thread is ready. `ready` has a bit for each of the first 64 threads.
int choose(int stay, bool leaves, std::uint64_t ready);
// Records the choice of a thread, which then does `step`. The caller holds the recorder's lock.
void record_turn(int chosen, std::uint64_t ready, const Step& step);

}  // namespace nearfar::crash
