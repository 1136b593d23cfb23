#include "crash/checker/equal_states.hpp"

#include <string.h>

#include <algorithm>

#include "crash/explore/hash.hpp"
#include "crash/trace.h"

namespace nearfar::crash {

namespace {

// One check of the batch is tracked; it must be able to save several others.
constexpr unsigned min_states = 3;
constexpr unsigned max_pause = 1023;

// Calls visit(state, offset, content) for each line of each state.
template <typename Visit>
void for_each_line(const char* at, unsigned states, Visit visit) {
  for (unsigned state = 0; state < states; ++state) {
    std::uint64_t lines = 0;
    memcpy(&lines, at, sizeof lines);
    at += sizeof lines;
    for (; lines != 0; --lines) {
      std::uint64_t offset = 0;
      memcpy(&offset, at, sizeof offset);
      at += sizeof offset;
      visit(state, offset, at);
      at += NF_CRASH_LINE;
    }
  }
}

}  // namespace

bool TrackingGain::try_batch(unsigned states) {
  if (states < min_states) return false;
  if (left_ == 0) return true;
  left_ -= 1;
  return false;
}

void TrackingGain::note_check(std::int64_t ns) {
  check_ns_ = check_ns_ == 0 ? ns : (7 * check_ns_ + ns) / 8;
}

void TrackingGain::note_batch(unsigned states, std::int64_t ns) {
  saved_ns_ = saved_ns_ * 7 / 8 + states * check_ns_ - ns;
  pause_ = saved_ns_ >= 0 ? 0 : std::min(2 * pause_ + 1, max_pause);
  left_ = pause_;
}

unsigned EqualStates::line_at(std::uint64_t offset) const {
  return static_cast<unsigned>(std::lower_bound(lines_, lines_ + line_count_, offset) - lines_);
}

bool EqualStates::read(const char* states, unsigned count, const char* image,
                       const struct stat& file) {
  file_ = file;
  state_count_ = count;
  line_count_ = accepted_count_ = 0;
  can_save_checks_ = true;
  bool fits = true;
  for_each_line(states, count, [&](unsigned, std::uint64_t offset, const char*) {
    const unsigned at = line_at(offset);
    if (at < line_count_ && lines_[at] == offset) return;
    // A last line that extends beyond the end of the file is compared only up to that end.
    fits = fits && line_count_ < max_tracked_lines &&
           offset + NF_CRASH_LINE <= static_cast<std::uint64_t>(file.st_size);
    if (!fits) return;
    std::copy_backward(lines_ + at, lines_ + line_count_, lines_ + line_count_ + 1);
    lines_[at] = offset;
    line_count_ += 1;
  });
  if (!fits) return false;
  for (unsigned line = 0; line < line_count_; ++line) {
    const std::uint64_t hash = line_hash(lines_[line], image + lines_[line]);
    for (unsigned state = 0; state < count; ++state) hashes_[state][line] = hash;
  }
  for_each_line(states, count, [&](unsigned state, std::uint64_t offset, const char* content) {
    hashes_[state][line_at(offset)] = line_hash(offset, content);
  });
  return true;
}

bool EqualStates::is_accepted(unsigned state) const {
  return std::any_of(accepted_, accepted_ + accepted_count_, [&](const Check& check) {
    for (unsigned line = 0; line < line_count_; ++line) {
      if (check.touched[line] && hashes_[state][line] != hashes_[check.state][line]) return false;
    }
    return true;
  });
}

bool EqualStates::begin(unsigned state, const char* image, std::int64_t limit_ns) {
  return can_save_checks_ && state + 1 < state_count_ &&
         begin_tracking(lines_, line_count_, image, file_, limit_ns);
}

void EqualStates::end(unsigned state, bool is_accepted) {
  Check& check = accepted_[accepted_count_];
  check.state = state;
  end_tracking(check.touched);
  can_save_checks_ = !std::all_of(check.touched, check.touched + line_count_,
                                  [](bool is_touched) { return is_touched; });
  if (is_accepted && can_save_checks_) accepted_count_ += 1;
}

}  // namespace nearfar::crash
