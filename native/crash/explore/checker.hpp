// A checker's command and its ways of being run on the image.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crash/checker/messages.hpp"

namespace nearfar::crash {

struct Verdict {
  std::string symptom;  // empty: it found nothing wrong
  std::string said;     // the end of its output, or all of it
  bool touched = true;  // the image may have been changed in ways that only its content tells
};

struct Command {
  std::vector<std::string> words;  // the pool's path in it already
  bool shell = false;              // it is one word, for /bin/sh
  std::string library;             // of the checker, if it is one; words are then its host's
  std::string preload;             // the server
  bool function = false;           // it may hold its checker as a function, which the server calls
  std::string image;
  int timeout_ms = 0;
  std::size_t keep = 0;  // bytes of its output
};

class Checker {
 public:
  virtual ~Checker() = default;
  virtual Verdict run(const Cut& cut) = 0;
};

// Started anew for each cut, the pool mapped as it says.
std::unique_ptr<Checker> plain_checker(const Command& command);
// Loaded once; null where the command cannot be served. `as_function` tells whether it is one.
std::unique_ptr<Checker> served_checker(const Command& command, bool& as_function);

// What both need.
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

// Starts words[0] in a session of its own, its output into `out`, the listed files open.
pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& variables,
            int out);
std::string symptom_of(int wait_status);
// Reads one message or sees the deadline; drains `output` meanwhile. 1: read, 0: too late, -1: end.
int await(int file, void* into, std::size_t bytes, Output& output, std::int64_t deadline_ms);
std::int64_t now_ms();

}  // namespace nearfar::crash
