// A checker's command, and ways to run it on the image.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crash/checker/messages.hpp"

namespace nearfar::crash {

struct Verdict {
  std::string symptom;           // empty: the image is fine
  std::string output;            // end of its output
  bool may_have_changed = true;  // the image must be compared to find changes
};

struct Command {
  std::vector<std::string> words;  // with the pool's path
  bool shell = false;              // a single word, for /bin/sh
  std::string library;             // the checker's library, if it is one; words are then its host's
  std::string preload;             // the server
  bool function = false;           // may be a function, which the server calls
  std::string image;
  int timeout_ms = 0;
  std::size_t keep = 0;  // bytes of output to keep
};

class Checker {
 public:
  virtual ~Checker() = default;
  virtual Verdict run(const Cut& cut) = 0;
};

// A checker started for each cut, with its own mapping of the pool.
std::unique_ptr<Checker> plain_checker(const Command& command);
// A checker that is loaded once; null if the command cannot be served. Sets `as_function` if it is
// a function.
std::unique_ptr<Checker> served_checker(const Command& command, bool& as_function);

// Captured output of a checker.
class Output {
 public:
  explicit Output(std::size_t keep);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  int write_end() const { return ends_[1]; }
  int read_end() const { return ends_[0]; }
  void drain();
  std::string take();

 private:
  int ends_[2];
  std::size_t keep_;
  std::string text_;
};

// Starts words[0] in a new session with its output into `out`.
pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& variables,
            int out);
std::string symptom_of(int wait_status);
// Reads a message until the deadline and drains `output` meanwhile. 1: read, 0: timeout, -1: end.
int await(int file, void* into, std::size_t bytes, Output& output, std::int64_t deadline_ms);
// The same for what a checker does within its time limit: time in which it waited for a processor
// does not count, so that a busy machine makes no hangs.
int await_checker(int file, void* into, std::size_t bytes, Output& output, int timeout_ms,
                  pid_t checker);
std::int64_t now_ms();

}  // namespace nearfar::crash
