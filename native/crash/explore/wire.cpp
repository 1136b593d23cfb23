#include "crash/explore/wire.hpp"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <stdexcept>

namespace nearfar::crash {

namespace {

struct Head {
  std::uint32_t type;
  std::uint32_t length;
};

void send_all(const char* data, std::size_t size) {
  while (size != 0) {
    const ssize_t sent = write(1, data, size);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw EndOfInput{};
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void receive_all(char* data, std::size_t size) {
  while (size != 0) {
    const ssize_t received = read(0, data, size);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) throw EndOfInput{};
    data += received;
    size -= static_cast<std::size_t>(received);
  }
}

}  // namespace

Frame& Frame::number(std::uint64_t value) { return bytes(&value, sizeof value); }

Frame& Frame::text(const std::string& value) {
  number(value.size());
  return bytes(value.data(), value.size());
}

Frame& Frame::bytes(const void* data, std::size_t size) {
  payload_.append(static_cast<const char*>(data), size);
  return *this;
}

void Frame::send() const {
  const Head head{static_cast<std::uint32_t>(type_), static_cast<std::uint32_t>(payload_.size())};
  std::string whole(reinterpret_cast<const char*>(&head), sizeof head);
  whole += payload_;
  send_all(whole.data(), whole.size());
}

Request Request::receive() {
  Head head{};
  receive_all(reinterpret_cast<char*>(&head), sizeof head);
  Request request;
  request.type_ = static_cast<char>(head.type);
  request.payload_.resize(head.length);
  receive_all(request.payload_.data(), head.length);
  return request;
}

std::uint64_t Request::number() {
  std::uint64_t value = 0;
  if (at_ + sizeof value > payload_.size()) throw std::runtime_error("a frame is too short");
  memcpy(&value, payload_.data() + at_, sizeof value);
  at_ += sizeof value;
  return value;
}

std::string Request::text() {
  const std::uint64_t size = number();
  if (at_ + size > payload_.size()) throw std::runtime_error("a frame is too short");
  std::string value = payload_.substr(at_, size);
  at_ += size;
  return value;
}

}  // namespace nearfar::crash
