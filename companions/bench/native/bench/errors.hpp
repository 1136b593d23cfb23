// Errors of the executable, one sentence each; the exit code is the kind of error, as in nearfar.
#pragma once

#include <stdexcept>
#include <string>

namespace nearfar::bench {

class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& sentence) : std::runtime_error(sentence), exit_code(code) {}
  int exit_code;
};

// The content differs from what was written, so the measured time is meaningless.
class WrongContent : public Failure {
 public:
  explicit WrongContent(const std::string& sentence) : Failure(1, sentence) {}
};

class BadArgument : public Failure {
 public:
  explicit BadArgument(const std::string& sentence) : Failure(2, sentence) {}
};

class MachineError : public Failure {
 public:
  explicit MachineError(const std::string& sentence) : Failure(3, sentence) {}
};

}  // namespace nearfar::bench
