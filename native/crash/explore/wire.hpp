// Frames between nearfar and the explorer: type (4 bytes), length (4), payload. Numbers have 8
// bytes; texts are their length and bytes. nearfar/crash/engine.py is the other end.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::crash {

// The other end of the pipe is closed.
struct EndOfInput {};

class Frame {
 public:
  explicit Frame(char type) : type_(type) {}
  Frame& number(std::uint64_t value);
  Frame& text(const std::string& value);
  Frame& bytes(const void* data, std::size_t size);
  // Writes to standard output. Throws EndOfInput if it is closed.
  void send() const;

 private:
  char type_;
  std::string payload_;
};

class Request {
 public:
  // Reads from standard input, blocking. Throws EndOfInput at its end.
  static Request receive();
  char type() const { return type_; }
  std::uint64_t number();
  std::string text();

 private:
  char type_ = 0;
  std::string payload_;
  std::size_t at_ = 0;
};

}  // namespace nearfar::crash
