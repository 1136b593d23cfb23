#include "crash/checker/batch.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/checker/equal_states.hpp"
#include "crash/checker/maps.hpp"
#include "crash/trace.h"

namespace nearfar::crash {

namespace {

// Maps the image as it is. The explorer makes a new file if a checker removed or truncated it.
class ImageFile {
 public:
  // Returns false if the image cannot be mapped.
  bool open_again() {
    struct stat now {};
    const char* const path = getenv(NF_CRASH_IMAGE);
    if (path == nullptr || stat(path, &now) != 0) return false;
    if (begin_ != nullptr && now.st_ino == known_.st_ino && now.st_dev == known_.st_dev &&
        now.st_size == known_.st_size) {
      known_ = now;
      return true;
    }
    if (begin_ != nullptr) hooks::system_munmap(begin_, size());
    begin_ = nullptr;
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    known_ = now;
    void* const mapped = hooks::system_mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                                            static_cast<int>(file), 0);
    syscall(SYS_close, file);
    if (mapped == MAP_FAILED) return false;
    begin_ = static_cast<char*>(mapped);
    return true;
  }

  bool has_changed() const {
    struct stat now {};
    return stat(getenv(NF_CRASH_IMAGE), &now) != 0 || now.st_ino != known_.st_ino ||
           now.st_size != known_.st_size || now.st_mode != known_.st_mode ||
           memcmp(&now.st_mtim, &known_.st_mtim, sizeof now.st_mtim) != 0;
  }

  // Swaps a line's content with that of the file. Bytes beyond the end of the file are not changed.
  void exchange(std::uint64_t offset, char* content) {
    if (offset >= size()) return;
    const std::size_t left = size() - offset;
    const std::size_t bytes = left < NF_CRASH_LINE ? left : NF_CRASH_LINE;
    char before[NF_CRASH_LINE];
    memcpy(before, begin_ + offset, bytes);
    memcpy(begin_ + offset, content, bytes);
    memcpy(content, before, bytes);
  }

  const char* content() const { return begin_; }
  const struct stat& status() const { return known_; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(known_.st_size); }
  char* begin_ = nullptr;
  struct stat known_ {};
};
ImageFile image;

std::uint64_t line_count(const char* state) {
  std::uint64_t lines = 0;
  memcpy(&lines, state, sizeof lines);
  return lines;
}

char* end_of_state(char* at) {
  return at + sizeof(std::uint64_t) + line_count(at) * (sizeof(std::uint64_t) + NF_CRASH_LINE);
}

// Swaps the lines of the state at `at`.
void exchange_lines(char* at) {
  std::uint64_t lines = line_count(at);
  at += sizeof lines;
  for (; lines != 0; --lines) {
    std::uint64_t offset = 0;
    memcpy(&offset, at, sizeof offset);
    image.exchange(offset, at + sizeof offset);
    at += sizeof offset + NF_CRASH_LINE;
  }
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// Time limit of a tracked check, in multiples of an untracked check.
constexpr std::int64_t max_tracked_checks = 4;

EqualStates equal_states;
TrackingGain tracking_gain;

// Judges the state at `at`: patches it into the image, and removes it afterwards.
int judge_state(Batch* batch, unsigned state, char* at, bool compares, int (*check)()) {
  const std::int64_t begin_ns = now_ns();
  batch->begun_ms = begin_ns / 1000000;
  __atomic_store_n(&batch->judging, state, __ATOMIC_RELEASE);
  exchange_lines(at);
  const bool tracked =
      compares && tracking_gain.check_ns() != 0 &&
      equal_states.begin(state, image.content(), max_tracked_checks * tracking_gain.check_ns());
  const int result = check();
  if (tracked) {
    equal_states.end(state, result == 0);
  } else {
    tracking_gain.note_check(now_ns() - begin_ns);
  }
  exchange_lines(at);
  return result;
}

}  // namespace

Judged judge_batch(Batch* batch, unsigned states, int (*check)()) {
  if (states == 0) return {check(), 0};
  if (!image.open_again()) return {0, 0};
  char* at = reinterpret_cast<char*>(batch + 1);
  const std::int64_t begin_ns = now_ns();
  const bool compares = tracking_gain.try_batch(states) &&
                        equal_states.read(at, states, image.content(), image.status());
  for (unsigned state = 0; state < states; ++state) {
    char* const end = end_of_state(at);
    if (!compares || !equal_states.is_accepted(state)) {
      const int result = judge_state(batch, state, at, compares, check);
      if (result != 0) return {result, state};
      if (*may_have_changed != 0) return {0, state + 1};
      if (image.has_changed()) {
        *may_have_changed = 1;
        return {0, state + 1};
      }
      forget_maps();
    }
    at = end;
  }
  if (compares) tracking_gain.note_batch(states, now_ns() - begin_ns);
  return {0, states};
}

}  // namespace nearfar::crash
