// What makes transactions of transactions.cpp last, and what takes them back.
#pragma once

#include "application.hpp"

namespace application {

// Requests with a checksum each, written to a file group by group.
class Log {
 public:
  Log() : file_(tmpfile()), buffer_(region<char>("log", kGroup + kRecord)) {
    if (file_ == nullptr) fail("the log's file");
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
      crc_[i] = value;
    }
  }
  void append(std::string_view text) {
    uint32_t sum = ~0u;
    for (const char c : text) sum = crc_[(sum ^ static_cast<uint8_t>(c)) & 255] ^ sum >> 8;
    const auto length = static_cast<uint32_t>(text.size());
    memcpy(buffer_ + used_, &length, sizeof length);
    memcpy(buffer_ + used_ + sizeof length, &sum, sizeof sum);
    memcpy(buffer_ + used_ + 2 * sizeof sum, text.data(), length);
    used_ += length + 2 * sizeof sum;
    if (used_ < kGroup) return;
    // The file wraps: a log that is shipped and cut.
    const auto offset = static_cast<off_t>(groups_++ % kGroups * kGroup);
    if (pwrite(fileno(file_), buffer_, kGroup, offset) < 0) fail("the log's file");
    used_ = 0;
  }

 private:
  static constexpr uint64_t kGroup = 16384;
  static constexpr uint64_t kRecord = 1024;
  static constexpr uint64_t kGroups = 256;
  FILE* file_;
  char* buffer_;
  uint64_t used_ = 0;
  uint64_t groups_ = 0;
  uint32_t crc_[256];
};

// What was overwritten.
class Undo {
 public:
  template <typename Value>
  void keep(Value& place) {
    const Entry entry{&place, sizeof place, used_};
    memcpy(before_ + used_, &place, sizeof place);
    used_ += sizeof place;
    entries_.push_back(entry);
  }
  void take_back() {
    for (; !entries_.empty(); entries_.pop_back()) {
      memcpy(entries_.back().place, before_ + entries_.back().at, entries_.back().bytes);
    }
  }
  void forget() {
    entries_.clear();
    used_ = 0;
  }

 private:
  struct Entry {
    void* place;
    uint64_t bytes, at;
  };
  std::vector<Entry> entries_;
  char before_[16384];
  uint64_t used_ = 0;
};

}  // namespace application
