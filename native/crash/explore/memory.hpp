// What is durable and what may or may not be, as a trace is walked; nearfar/crash/memory.py is the
// same for whoever reads a trace in Python.
//
// A line of 64 bytes is written back whole, at any time, with the first so many of its stores. The
// fence of a thread makes durable what that thread flushed, whoever stored it.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "crash/explore/image.hpp"
#include "crash/explore/trace_file.hpp"

namespace nearfar::crash {

struct Store {
  const char* content;   // of the line after it; in the trace
  std::uint64_t record;  // its place in the trace
  std::uint64_t hash;    // of the content
  std::uint64_t place;   // of the stack
};

struct Line {
  std::uint64_t first = 0;    // number of stores[0]; numbers of one line only grow
  std::uint64_t flushed = 0;  // number of the store behind the last that a flush covered
  std::uint64_t durable_hash = 0;
  std::uint64_t point = 0;  // last point before which it was stored to
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

  // As before the program: to walk again.
  void restart();
  void feed(const Event& event, std::uint64_t point);

  // By offset.
  std::vector<Candidate> candidates() const;
  std::uint64_t key() const { return key_; }
  std::uint64_t key_of(const State& state) const;
  const Line* line(std::uint64_t offset) const;

  long done = -1;
  long begun = -1;
  std::uint64_t history = 0;  // events of operations so far
  // Of each thread, the operation that has begun and not ended, or -1.
  std::vector<long> in_flight;

 private:
  struct Pending {
    std::uint64_t offset;
    std::uint64_t behind;
  };
  void store(const Event& event, std::uint64_t point);
  void flush(std::uint64_t begin, std::uint64_t bytes, std::uint32_t thread);
  void flush_line(std::uint64_t offset, Line& line, std::uint32_t thread);
  void fence(std::uint32_t thread);
  void set_line(std::uint64_t offset, const char* content);
  void set_page(std::uint64_t begin, const char* content, std::uint64_t bytes);
  void operate(const Event& event);

  Image& image_;
  bool eadr_;
  std::uint64_t key_ = 0;
  std::uint64_t highest_ = 0;  // number that a flush ever named
  std::map<std::uint64_t, Line> lines_;
  std::unordered_map<std::uint32_t, std::vector<Pending>> pending_;
};

}  // namespace nearfar::crash
