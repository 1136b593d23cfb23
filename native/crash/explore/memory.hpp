// Durable data and pending stores at a point of a trace; nearfar/crash/memory.py is the Python
// version.
//
// A line of 64 bytes is written back as a whole, at any time, with any prefix of its pending
// stores. A thread's fence makes durable what that thread flushed, whichever thread stored it.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "crash/explore/image.hpp"
#include "crash/explore/trace_file.hpp"

namespace nearfar::crash {

struct Store {
  const char* content;   // content of the line after the store, in the trace
  std::uint64_t record;  // position of the store in the trace
  std::uint64_t hash;    // hash of the content
};

struct Line {
  std::uint64_t first = 0;    // number of stores[0]; the numbers of a line's stores only grow
  std::uint64_t flushed = 0;  // 1 + number of the last store that a flush covered
  std::uint64_t durable_hash = 0;
  std::uint64_t point = 0;  // first point after the line's last store
  std::vector<Store> stores;

  unsigned count() const { return static_cast<unsigned>(stores.size()); }
  unsigned flushed_count() const {
    return static_cast<unsigned>(flushed > first ? flushed - first : 0);
  }
};

struct Candidate {
  std::uint64_t offset;
  const Line* line;
};

struct InState {
  std::uint64_t offset;
  unsigned stores;  // at least 1
};
using State = std::vector<InState>;

class Memory {
 public:
  Memory(Image& image, bool eadr) : image_(image), eadr_(eadr) {}

  // Resets to the state before the program ran, for another walk.
  void restart();
  void feed(const Event& event, std::uint64_t point);

  // Lines with pending stores, ordered by offset.
  std::vector<Candidate> candidates() const;
  std::uint64_t key() const { return key_; }
  std::uint64_t key_of(const State& state) const;
  const Line* line(std::uint64_t offset) const;

  long done = -1;
  long begun = -1;
  std::uint64_t history = 0;  // events of operations so far
  // Per thread: its operation in flight, or -1.
  std::vector<long> in_flight;

 private:
  struct Pending {
    std::uint64_t offset;
    std::uint64_t end;
  };
  void store(const Event& event, std::uint64_t point);
  void flush(std::uint64_t begin, std::uint64_t bytes, std::uint32_t thread);
  void flush_line(std::uint64_t offset, Line& line, std::uint32_t thread);
  void fence(const nf_crash_record& record);
  void set_line(std::uint64_t offset, const char* content);
  void set_page(std::uint64_t begin, const char* content, std::uint64_t bytes);
  void track_operation(const Event& event);

  Image& image_;
  bool eadr_;
  std::uint64_t key_ = 0;
  std::uint64_t highest_ = 0;  // highest number in any flush so far
  std::map<std::uint64_t, Line> lines_;
  std::unordered_map<std::uint32_t, std::vector<Pending>> pending_;
};

}  // namespace nearfar::crash
