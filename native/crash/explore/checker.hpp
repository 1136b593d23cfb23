// A checker's command, and ways to run it on the image.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crash/checker/messages.hpp"

namespace nearfar::crash {

// A program that is not ready after this time is no loop, or contains no server.
inline constexpr int start_timeout_ms = 20000;

struct Verdict {
  std::string symptom;           // empty: the image is accepted
  std::string output;            // last part of the checker's output
  bool may_have_changed = true;  // the image must be compared to detect changes
};

struct Command {
  std::vector<std::string> words;  // words of the command, with the pool's path
  bool shell = false;              // a single word, run by /bin/sh
  std::string library;    // shared library of the checker, if it is one; `words` start its host
  std::string preload;    // the server library
  bool function = false;  // the checker may be a function, which the server calls
  bool loop = false;      // the checker judges an image for each line that it reads
  std::string image;
  int timeout_ms = 0;
  std::shared_ptr<int> limit_ms;  // limit of a check: the timeout, or less once checks have hung
  std::size_t keep = 0;           // bytes of output to keep
};

// A line of a state, to patch into the image.
struct PatchedLine {
  std::uint64_t offset;
  const char* content;
};
using Patch = std::vector<PatchedLine>;

struct Accepted {
  std::size_t states = 0;
  bool may_have_changed = false;
};

class Checker {
 public:
  virtual ~Checker() = default;
  // Judges the image as it is.
  virtual Verdict run(const Cut& cut) = 0;
  // Patches and judges one state after another. Stops before a state that `run` must judge, and
  // after a state for which the image must be restored. Returns the number of accepted states.
  virtual Accepted accept(const Cut& cut, const Patch* states, std::size_t count) {
    (void)cut, (void)states, (void)count;
    return {};
  }
  // Whether `accept` is supported.
  virtual bool takes_batches() const { return false; }
};

// Returns a checker that is started for each cut, with its own mapping of the pool.
std::unique_ptr<Checker> plain_checker(const Command& command);
// Returns a checker that is loaded once; null if the command cannot be served. Sets `as_function`
// if the checker is a function.
std::unique_ptr<Checker> served_checker(const Command& command, bool& as_function);

// Returns a checker that keeps running and reads a line for each cut; null if it does not support
// this.
std::unique_ptr<Checker> loop_checker(const Command& command);

// Captured output of a checker.
class Output {
 public:
  explicit Output(std::size_t keep);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  int write_end() const { return ends_[1]; }
  int read_end() const { return ends_[0]; }
  // Ends the output if the checker has ended; returns whether it has.
  void close_write_end();
  bool ended() const { return ended_; }
  void drain();
  const std::string& text() const { return text_; }
  std::string take();

 private:
  int ends_[2];
  std::size_t keep_;
  std::string text_;
  bool ended_ = false;
};

// Starts words[0] in a new session, with its output to `out` and its input from `in` or from
// nothing.
pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& variables,
            int out, int in = -1);
std::string symptom_of(int wait_status);
// Reads a message until the deadline, and drains `output` in the meantime. Returns 1: read, 0:
// timeout, -1: end of input.
int await(int file, void* into, std::size_t bytes, Output& output, std::int64_t deadline_ms);
// Does the same within the time limit of the checker. Time in which the checker waited for a
// processor is excluded, so that a busy machine causes no false hangs.
int await_checker(int file, void* into, std::size_t bytes, Output& output, int timeout_ms,
                  pid_t checker, std::int64_t begin_ms);
std::int64_t now_ms();

}  // namespace nearfar::crash
