// Finds states of a batch whose check would run exactly like that of another state.
//
// A check is a function of the image. Suppose that it touched only some of the lines in which the
// batch's states differ. If another state has the same content in the touched lines, its check
// would load the same content at every step, and so reach the same result.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "crash/checker/messages.hpp"
#include "crash/checker/reads.hpp"

namespace nearfar::crash {

// Decides from measured times whether tracking checks makes batches faster.
class TrackingGain {
 public:
  bool try_batch(unsigned states);
  void note_check(std::int64_t ns);
  void note_batch(unsigned states, std::int64_t ns);
  // Returns the time of an untracked check; 0 if unknown.
  std::int64_t check_ns() const { return check_ns_; }

 private:
  std::int64_t check_ns_ = 0;
  std::int64_t saved_ns_ = 0;  // sum over recent batches
  unsigned pause_ = 0;         // batches to skip after a loss
  unsigned left_ = 0;
};

class EqualStates {
 public:
  // `states` has the layout described in messages.hpp; `image` is the content without the states.
  // Returns false if the states have too many lines.
  bool read(const char* states, unsigned count, const char* image, const struct stat& file);
  // Returns whether an accepted check would have run the same way for this state.
  bool is_accepted(unsigned state) const;
  // Starts to track the state's check if that may save other checks.
  bool begin(unsigned state, const char* image, std::int64_t limit_ns);
  void end(unsigned state, bool is_accepted);

 private:
  unsigned line_at(std::uint64_t offset) const;

  struct stat file_ {};
  unsigned state_count_ = 0;
  unsigned line_count_ = 0;
  std::uint64_t lines_[max_tracked_lines];
  std::uint64_t hashes_[max_batch_states][max_tracked_lines];
  struct Check {
    unsigned state;
    bool touched[max_tracked_lines];
  };
  Check accepted_[max_batch_states];
  unsigned accepted_count_ = 0;
  bool can_save_checks_ = false;  // whether the last check left some line untouched
};

}  // namespace nearfar::crash
