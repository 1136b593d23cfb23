// States of a batch whose check would do what that of another state did.
//
// A check is a function of the image. If it touched some of the lines that the batch's states
// differ in, and another state has the same content in these, the check of that state would load
// the same content, step by step, and so end alike.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "crash/checker/messages.hpp"
#include "crash/checker/reads.hpp"

namespace nearfar::crash {

// Whether batches end earlier if checks are tracked, by the time that both take.
class Worth {
 public:
  bool try_batch(unsigned states);
  void note_check(std::int64_t ns);
  void note_batch(unsigned states, std::int64_t ns);
  // Time of a check that is not tracked, or 0.
  std::int64_t check_ns() const { return check_ns_; }

 private:
  std::int64_t check_ns_ = 0;
  std::int64_t saved_ns_ = 0;  // recently
  unsigned pause_ = 0;         // batches to leave out after a loss
  unsigned left_ = 0;
};

class EqualStates {
 public:
  // `states`: as messages.hpp describes them; `image`: the content without them. False: they have
  // too many lines.
  bool read(const char* states, unsigned count, const char* image, const struct stat& file);
  // Whether a check that was accepted would do the same for this state.
  bool is_accepted(unsigned state) const;
  // Starts to track the state's check, if that may spare others.
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
  bool spares_ = false;  // the last check left some line untouched
};

}  // namespace nearfar::crash
