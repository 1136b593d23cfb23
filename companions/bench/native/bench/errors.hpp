// The executable's errors, one sentence each; the exit code is the error's kind (nearfar's own).
#pragma once

#include <stdexcept>
#include <string>

namespace nearfar::bench {

class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& sentence) : std::runtime_error(sentence), exit_code(code) {}
  int exit_code;
};

// The content is not what was put in: the time beside it is worth nothing.
class WrongContent : public Failure {
 public:
  explicit WrongContent(const std::string& sentence) : Failure(1, sentence) {}
};

class BadArgument : public Failure {
 public:
  explicit BadArgument(const std::string& sentence) : Failure(2, sentence) {}
};

class MachineLacks : public Failure {
 public:
  explicit MachineLacks(const std::string& sentence) : Failure(3, sentence) {}
};

}  // namespace nearfar::bench
