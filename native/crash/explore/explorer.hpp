// Walks a trace from failure point to failure point and judges states, the newest coverage first.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "crash/explore/judge.hpp"
#include "crash/explore/memory.hpp"
#include "crash/explore/trace_file.hpp"
#include "crash/explore/wire.hpp"

namespace nearfar::crash {

struct Plan {
  std::uint64_t seed = 1;
  bool eadr = false;
  std::uint64_t worker = 0;
  std::uint64_t workers = 1;
  std::int64_t deadline_ms = 0;
  std::uint64_t most_states = 0;
  std::uint64_t first_rank = 0;   // to go on: ranks before it are done,
  std::uint64_t first_chunk = 0;  // and of it the chunks before this
};

// Ranks of points, each walked by itself:
// 0  the fence (or store, or operation's end) was met fewer than three times before, by its stack
// 1  a place of the program that stored since the last point was met fewer than three times
// 2  every 64th of the others, 3 every 8th, 4 all: a short budget sees the whole run
constexpr unsigned ranks = 5;

class Explorer {
 public:
  Explorer(const TraceFile& trace, Memory& memory, Judge& judge, const Plan& plan)
      : trace_(trace), memory_(memory), judge_(judge), plan_(plan) {}

  // Until all is judged or the budget is spent; sends frames:
  // K  points of the run
  // T  tally: states, duplicates, points explored, ns in the checkers; since the last
  // F  failure; then nearfar asks for what it needs and says G
  // C  rank, chunk: all of it is judged      Z  rank: all of it is judged
  // X  the budget is spent
  void explore();
  // Serves what nearfar asks at this point until it says to go on.
  void attend(std::uint64_t position);

 private:
  enum class At : std::uint64_t { fence = 0, operation = 1, end = 2, store = 3 };
  struct Point {
    std::uint64_t number;
    At at;
    std::uint64_t record;    // of the fence or store in the trace, or 0
    std::uint64_t position;  // events that have happened
    std::uint64_t stack;
  };

  // False: the budget is spent.
  bool walk(unsigned rank);
  bool visit(const Point& point, unsigned rank);
  unsigned rank_of(const Point& point);
  bool explore_point(const Point& point);
  bool exhausted() const;
  void fail(const Point& point, const std::vector<Candidate>& lines, const State& state,
            const Verdict& verdict);
  void tell_tally();
  void end_chunk(unsigned rank);

  const TraceFile& trace_;
  Memory& memory_;
  Judge& judge_;
  Plan plan_;

  std::unordered_map<std::uint64_t, unsigned> met_;
  std::unordered_map<std::uint64_t, unsigned> stored_;
  std::vector<std::uint64_t> recent_;
  std::uint64_t number_ = 0;
  std::uint64_t chosen_ = 0;  // points of this rank so far
  std::uint64_t chunk_ = 0;
  bool open_ = false;  // the chunk is ours
  std::uint64_t of_rank_[ranks] = {};

  std::uint64_t duplicates_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t told_states_ = 0;
  std::uint64_t told_ns_ = 0;
  std::int64_t told_ms_ = 0;
};

State take_state(Taken& taken, const Memory& memory);

}  // namespace nearfar::crash
