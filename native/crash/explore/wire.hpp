// Frames between nearfar and the explorer: type (4 bytes), length (4), payload. Numbers are of 8
// bytes, texts their length and then themselves; nearfar/crash/engine.py is the other end.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::crash {

// Nobody asks any more.
struct EndOfInput {};

class Frame {
 public:
  explicit Frame(char type) : type_(type) {}
  Frame& number(std::uint64_t value);
  Frame& text(const std::string& value);
  Frame& bytes(const void* data, std::size_t size);
  // To standard output. Throws EndOfInput if nobody reads.
  void send() const;

 private:
  char type_;
  std::string payload_;
};

class Taken {
 public:
  // From standard input; waits. Throws EndOfInput.
  static Taken take();
  char type() const { return type_; }
  std::uint64_t number();
  std::string text();

 private:
  char type_ = 0;
  std::string payload_;
  std::size_t at_ = 0;
};

}  // namespace nearfar::crash
