// Walks a trace from failure point to failure point and judges states, newest coverage first.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
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
  std::uint64_t max_states = 0;
  std::uint64_t first_rank = 0;                // resume: lower ranks are complete
  bool shares_states = false;                  // there are other workers or other thread orders
  std::uint64_t first_chunk = 0;               // resume: earlier chunks of first_rank are complete
  std::unordered_set<std::uint64_t> suspects;  // results of store_place()
};

// Kinds of points, in the order of judging:
//  0  a store that a lint suspects came shortly before
//  1  the stack of the fence (or store, or operation's end) was met fewer than three times before
//  2  a code address that stored since the last point was met fewer than three times
//  3  every 64th of the others, 4 every 8th, 5 all: a short budget covers the whole run
//  6  in the call that makes a pool of libpmemobj, before which there is no data to lose
// Each is walked twice: in the second pass come the states in the middle of long lines.
constexpr unsigned kinds_of_points = 7;
constexpr unsigned ranks = 2 * kinds_of_points;

// Returns the hash of a store's place: its line and two callers, since helpers such as memcpy have
// many callers.
std::uint64_t store_place(const std::uint64_t* frames, unsigned count);

class Explorer {
 public:
  Explorer(const TraceFile& trace, Memory& memory, Judge& judge, const Plan& plan)
      : trace_(trace), memory_(memory), judge_(judge), plan_(plan) {}

  // Explores until all states are judged or the budget is spent; sends frames:
  //  K  points of the run
  //  T  tally since the last: states, duplicates, points explored, ns in the checkers
  //  F  failure; nearfar then requests what it needs, and sends G
  //  C  rank, chunk: all of it is judged      Z  rank: all of it is judged
  //  X  1: the states are spent, 0: the time is
  void explore();
  // Serves nearfar's requests at this point until nearfar sends G.
  void serve_requests(std::uint64_t position);

 private:
  enum class PointKind : std::uint64_t { fence = 0, operation = 1, end = 2, store = 3 };
  struct Point {
    std::uint64_t number;
    PointKind kind;
    std::uint64_t record;    // position of the fence or store in the trace, or 0
    std::uint64_t position;  // number of events so far
    std::uint64_t stack;
  };

  template <typename Feed, typename Visit>
  void for_each_point(Feed feed, Visit visit);
  // These return false once the budget is used up.
  bool walk(unsigned rank);
  bool visit(const Point& point, unsigned rank);
  unsigned kind_of(const Point& point);
  bool explore_point(const Point& point, bool is_second);
  bool judge(const Point& point, const std::vector<Candidate>& lines,
             const std::vector<State>& states, std::size_t main);
  bool exhausted() const;
  void report_failure(const Point& point, const std::vector<Candidate>& lines, const State& state,
                      const Verdict& verdict);
  void send_tally();
  void end_chunk(unsigned rank);
  std::uint64_t chunk_size(unsigned rank) const;

  const TraceFile& trace_;
  Memory& memory_;
  Judge& judge_;
  Plan plan_;

  std::unordered_map<std::uint64_t, unsigned> visits_by_stack_;
  std::unordered_map<std::uint64_t, unsigned> stores_by_place_;
  std::vector<std::uint64_t> recent_stores_;
  std::unordered_map<std::uint64_t, unsigned> suspect_visits_;
  unsigned near_suspect_ = 0;          // remaining points that count as near a suspect store
  std::uint64_t pool_created_at_ = 0;  // events until libpmemobj had created the pool, or 0
  std::uint64_t number_ = 0;
  std::uint64_t rank_points_ = 0;  // points of this rank so far
  std::uint64_t chunk_ = 0;
  bool open_ = false;  // whether this worker judges the current chunk
  std::uint64_t points_by_kind_[kinds_of_points] = {};
  bool has_second_pass_ = true;  // the first pass had a long line; true if unknown

  std::uint64_t duplicates_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t sent_states_ = 0;
  std::uint64_t sent_ns_ = 0;
};

State receive_state(Request& request, const Memory& memory);

}  // namespace nearfar::crash
