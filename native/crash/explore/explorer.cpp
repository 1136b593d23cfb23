#include "crash/explore/explorer.hpp"

#include <algorithm>
#include <stdexcept>

#include "crash/explore/hash.hpp"
#include "crash/explore/states.hpp"

namespace nearfar::crash {

namespace {

// So many visits of a stack count as new: the first append to an empty log differs from the second.
constexpr unsigned max_new_visits = 3;
// Points per chunk. A resumed exploration continues at the start of a chunk.
constexpr std::uint64_t chunk_points = 4;
// Workers may judge equal states at chunk boundaries, so larger chunks save work; but each worker
// should get some points of every rank.
constexpr std::uint64_t max_shared_chunk_points = 64;
constexpr std::uint64_t chunks_per_worker = 8;
constexpr unsigned store_frames = 3;
// A bug shows where a later store survives, mostly within the next few fences.
constexpr unsigned points_near_suspect = 3;
// States between tallies. This is a number of states, not a time, because nearfar ends an
// exploration with several workers at a tally.
constexpr std::uint64_t tally_states = 32;
// Artificial stack hashes for points without a stack.
constexpr std::uint64_t operation_stack = 1;
constexpr std::uint64_t end_stack = 2;

}  // namespace

std::uint64_t store_place(const std::uint64_t* frames, unsigned count) {
  return stack_hash(frames, std::min(count, store_frames));
}

void Explorer::explore() {
  trace_.walk([&](const Event& event) {
    if (event.record->kind == NF_CRASH_POOL_CREATE) pool_created_at_ = event.position;
    return pool_created_at_ == 0;
  });
  std::uint64_t points = 0;
  for_each_point([](const Event&) {},
                 [&](const Point& point) {
                   points_by_kind_[kind_of(point)] += 1;
                   points += 1;
                   return true;
                 });
  Frame('K').number(points).send();
  for (auto rank = static_cast<unsigned>(plan_.first_rank); rank < ranks; ++rank) {
    const bool is_second = rank % 2 != 0;
    if (points_by_kind_[rank / 2] != 0 && (!is_second || has_second_pass_)) {
      // Chunks that an earlier run judged may have had long lines.
      if (!is_second) has_second_pass_ = rank == plan_.first_rank && plan_.first_chunk != 0;
      if (!walk(rank)) {
        send_tally();
        Frame('X').number(judge_.states >= plan_.max_states ? 1 : 0).send();
        return;
      }
      if (open_) end_chunk(rank);
      send_tally();
    }
    Frame('Z').number(rank).send();
  }
}

// Walks to the last point of the rank; returns false once the budget is used up.
bool Explorer::walk(unsigned rank) {
  memory_.restart();
  rank_points_ = chunk_ = 0;
  open_ = false;
  bool going = true;
  for_each_point([&](const Event& event) { memory_.feed(event, number_); },
                 [&](const Point& point) {
                   going = visit(point, rank);
                   return going && rank_points_ < points_by_kind_[rank / 2];
                 });
  return going;
}

// Calls feed(event) for each event, and visit(point) for each failure point, before or after the
// event that causes it. Stops when `visit` returns false.
template <typename Feed, typename Visit>
void Explorer::for_each_point(Feed feed, Visit visit) {
  visits_by_stack_.clear();
  stores_by_place_.clear();
  recent_stores_.clear();
  suspect_visits_.clear();
  near_suspect_ = 0;
  number_ = 0;
  bool going = true;
  std::uint64_t last = 0;
  const auto visit_new_point = [&](PointKind kind, std::uint64_t record, std::uint64_t position,
                                   std::uint64_t stack) {
    const Point point{number_, kind, record, position, stack};
    number_ += 1;
    going = visit(point);
  };
  trace_.walk([&](const Event& event) {
    const auto kind = event.record->kind;
    // Fences are distinguished by their complete call stacks.
    const std::uint64_t stack =
        kind == NF_CRASH_STORE   ? store_place(event.frames, event.record->frames)
        : kind == NF_CRASH_FENCE ? stack_hash(event.frames, event.record->frames)
                                 : 0;
    if (kind == NF_CRASH_FENCE && !plan_.eadr) {
      visit_new_point(PointKind::fence, event.at, event.position, stack);
    }
    if (!going) return false;
    feed(event);
    last = event.position + 1;
    if (kind == NF_CRASH_STORE && !plan_.eadr) recent_stores_.push_back(stack);
    if (kind == NF_CRASH_END) {
      visit_new_point(PointKind::operation, 0, last, operation_stack);
    } else if (kind == NF_CRASH_STORE && plan_.eadr) {
      visit_new_point(PointKind::store, event.at, last, stack);
    }
    return going;
  });
  if (going) visit_new_point(PointKind::end, 0, last, end_stack);
}

unsigned Explorer::kind_of(const Point& point) {
  const bool is_new = ++visits_by_stack_[point.stack] <= max_new_visits;
  bool stores_new = false;
  for (const std::uint64_t place : recent_stores_) {
    if (plan_.suspects.count(place) != 0 && ++suspect_visits_[place] <= max_new_visits) {
      near_suspect_ = points_near_suspect;
    }
    unsigned& times = stores_by_place_[place];
    stores_new = stores_new || times < max_new_visits;
    times += 1;
  }
  recent_stores_.clear();
  if (point.position < pool_created_at_) return 6;
  if (near_suspect_ != 0) {
    near_suspect_ -= 1;
    return 0;
  }
  if (is_new) return 1;
  if (stores_new) return 2;
  if (point.number % 64 == 0) return 3;
  return point.number % 8 == 0 ? 4 : 5;
}

bool Explorer::visit(const Point& point, unsigned rank) {
  if (kind_of(point) != rank / 2) return true;
  const std::uint64_t chunk = rank_points_++ / chunk_size(rank);
  if (chunk != chunk_ && open_) end_chunk(rank);
  chunk_ = chunk;
  if (chunk % plan_.workers != plan_.worker) return true;
  if (rank == plan_.first_rank && chunk < plan_.first_chunk) return true;
  open_ = true;
  return explore_point(point, rank % 2 != 0);
}

std::uint64_t Explorer::chunk_size(unsigned rank) const {
  if (plan_.workers == 1) return chunk_points;
  const std::uint64_t chunks = plan_.workers * chunks_per_worker;
  return std::clamp((points_by_kind_[rank / 2] + chunks - 1) / chunks, chunk_points,
                    max_shared_chunk_points);
}

void Explorer::end_chunk(unsigned rank) {
  send_tally();
  Frame('C').number(rank).number(chunk_).send();
  open_ = false;
}

bool Explorer::exhausted() const {
  return judge_.states >= plan_.max_states || now_ms() >= plan_.deadline_ms;
}

bool Explorer::explore_point(const Point& point, bool is_second) {
  if (exhausted()) return false;
  points_ += is_second ? 0 : 1;
  const std::vector<Candidate> lines = memory_.candidates();
  const bool is_long = has_long_lines(lines);
  if (is_second && !is_long) return true;
  has_second_pass_ = has_second_pass_ || is_long;
  const States which = !is_long    ? States::all
                       : is_second ? States::torn_and_random
                                   : States::whole_lines;
  unsigned order = is_second ? main_states : 0;
  std::vector<State> batch;
  std::size_t main = 0;
  const auto judge_batch = [&] {
    const bool going = judge(point, lines, batch, main);
    batch.clear();
    main = 0;
    return going;
  };
  // Each point has random numbers of its own, so that the budget of one point does not change the
  // next.
  return for_each_state(
             lines, mix(plan_.seed) ^ point.number,
             [&](const State& state) {
               const bool is_main = order++ < main_states;
               if (!judge_.claim(memory_, state)) {
                 duplicates_ += 1;
                 return true;
               }
               batch.push_back(state);
               main += is_main ? 1 : 0;
               return batch.size() < judge_.batch_states() || judge_batch();
             },
             which) &&
         (batch.empty() || judge_batch());
}

bool Explorer::judge(const Point& point, const std::vector<Candidate>& lines,
                     const std::vector<State>& states, std::size_t main) {
  const std::uint64_t left = plan_.max_states - std::min(judge_.states, plan_.max_states);
  std::vector<State> affordable(
      states.begin(),
      states.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(states.size(), left)));
  const auto verdicts = judge_.judge_all(memory_, affordable, point.position, main);
  for (std::size_t i = 0; i < affordable.size(); ++i) {
    if (exhausted()) return false;
    judge_.states += 1;
    if (!verdicts[i]->symptom.empty()) {
      report_failure(point, lines, affordable[i], *verdicts[i]);
    } else if (judge_.states - sent_states_ >= tally_states) {
      send_tally();
    }
  }
  return affordable.size() == states.size();
}

void Explorer::send_tally() {
  Frame('T')
      .number(judge_.states - sent_states_)
      .number(duplicates_)
      .number(points_)
      .number(judge_.time_ns - sent_ns_)
      .send();
  sent_states_ = judge_.states;
  sent_ns_ = judge_.time_ns;
  duplicates_ = points_ = 0;
}

void Explorer::report_failure(const Point& point, const std::vector<Candidate>& lines,
                              const State& state, const Verdict& verdict) {
  send_tally();
  Frame frame('F');
  frame.number(point.number).number(static_cast<std::uint64_t>(point.kind)).number(point.record);
  frame.number(point.position);
  frame.number(static_cast<std::uint64_t>(memory_.done));
  frame.number(static_cast<std::uint64_t>(memory_.begun));
  std::vector<long> in_flight;
  for (const long operation : memory_.in_flight) {
    if (operation >= 0) in_flight.push_back(operation);
  }
  frame.number(in_flight.size());
  for (const long operation : in_flight) frame.number(static_cast<std::uint64_t>(operation));
  frame.text(verdict.symptom).text(verdict.output);
  frame.number(state.size());
  for (const InState& written : state) frame.number(written.offset).number(written.stores);
  frame.number(lines.size());
  for (const Candidate& candidate : lines) {
    frame.number(candidate.offset)
        .number(candidate.line->flushed_count())
        .number(candidate.line->count());
    for (const Store& store : candidate.line->stores) frame.number(store.record);
  }
  frame.send();
  serve_requests(point.position);
}

void Explorer::serve_requests(std::uint64_t position) {
  for (;;) {
    Request request = Request::receive();
    if (request.type() == 'G') return;
    const bool plain = request.type() == 'P';
    const State state = receive_state(request, memory_);
    if (request.type() == 'I') {
      judge_.send_image(memory_, state);
      continue;
    }
    const Verdict verdict = plain ? judge_.judge_by_plain(memory_, state, position)
                                  : judge_.judge(memory_, state, position, true);
    Frame('V').text(verdict.symptom).text(verdict.output).send();
  }
}

State receive_state(Request& request, const Memory& memory) {
  State state;
  for (std::uint64_t left = request.number(); left != 0; --left) {
    const std::uint64_t offset = request.number();
    const std::uint64_t stores = request.number();
    const Line* line = memory.line(offset);
    if (line == nullptr || stores == 0 || stores > line->stores.size()) {
      throw std::runtime_error("the state does not belong to this point");
    }
    state.push_back({offset, static_cast<unsigned>(stores)});
  }
  return state;
}

}  // namespace nearfar::crash
