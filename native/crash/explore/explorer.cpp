#include "crash/explore/explorer.hpp"

#include <algorithm>
#include <stdexcept>

#include "crash/explore/hash.hpp"
#include "crash/explore/states.hpp"

namespace nearfar::crash {

namespace {

// The first append to an empty log is not the second.
constexpr unsigned is_new_so_often = 3;
// Points that are taken at once: it is by these that an exploration goes on another time.
constexpr std::uint64_t points_of_chunk = 4;
// Where several share: two workers judge what is on both sides of a chunk's end.
constexpr std::uint64_t points_of_shared_chunk = 64;
// Helpers such as memcpy have many callers.
constexpr std::uint16_t store_frames = 3;
constexpr std::int64_t tell_every_ms = 200;
// Different ones of a point without a stack of its own.
constexpr std::uint64_t operation_stack = 1;
constexpr std::uint64_t end_stack = 2;

}  // namespace

void Explorer::explore() {
  told_ms_ = now_ms();
  std::uint64_t points = 1;
  trace_.walk([&](const Event& event) {
    const auto kind = event.record->kind;
    points += kind == NF_CRASH_END || kind == (plan_.eadr ? NF_CRASH_STORE : NF_CRASH_FENCE);
    return true;
  });
  Frame('K').number(points).send();
  for (auto rank = static_cast<unsigned>(plan_.first_rank); rank < ranks; ++rank) {
    const bool counted = rank != plan_.first_rank;
    if (counted && of_rank_[rank] == 0) {
      Frame('Z').number(rank).send();
      continue;
    }
    if (!walk(rank)) {
      tell_tally();
      Frame('X').send();
      return;
    }
    if (open_) end_chunk(rank);
    tell_tally();
    Frame('Z').number(rank).send();
  }
}

bool Explorer::walk(unsigned rank) {
  memory_.restart();
  met_.clear();
  stored_.clear();
  recent_.clear();
  number_ = chosen_ = chunk_ = 0;
  open_ = false;
  for (std::uint64_t& count : of_rank_) count = 0;
  bool going = true;
  std::uint64_t last = 0;
  trace_.walk([&](const Event& event) {
    const auto kind = event.record->kind;
    // A fence is told from others by all its callers, a store by its line and two of them.
    const unsigned frames = kind == NF_CRASH_STORE ? std::min(store_frames, event.record->frames)
                                                   : event.record->frames;
    const std::uint64_t stack =
        kind == NF_CRASH_FENCE || kind == NF_CRASH_STORE ? stack_hash(event.frames, frames) : 0;
    if (kind == NF_CRASH_FENCE && !plan_.eadr) {
      going = visit({number_, At::fence, event.at, event.position, stack}, rank);
    }
    memory_.feed(event, number_);
    last = event.position + 1;
    if (kind == NF_CRASH_STORE && !plan_.eadr) recent_.push_back(stack);
    if (kind == NF_CRASH_END) {
      going = going && visit({number_, At::operation, 0, last, operation_stack}, rank);
    } else if (kind == NF_CRASH_STORE && plan_.eadr) {
      going = going && visit({number_, At::store, event.at, last, stack}, rank);
    }
    return going;
  });
  return going && visit({number_, At::end, 0, last, end_stack}, rank);
}

unsigned Explorer::rank_of(const Point& point) {
  const bool is_new = ++met_[point.stack] <= is_new_so_often;
  bool stores_new = false;
  for (const std::uint64_t place : recent_) {
    unsigned& times = stored_[place];
    stores_new = stores_new || times < is_new_so_often;
    times += 1;
  }
  recent_.clear();
  if (is_new) return 0;
  if (stores_new) return 1;
  if (point.number % 64 == 0) return 2;
  return point.number % 8 == 0 ? 3 : 4;
}

bool Explorer::visit(const Point& point, unsigned rank) {
  number_ += 1;
  const unsigned own = rank_of(point);
  of_rank_[own] += 1;
  if (own != rank) return true;
  const std::uint64_t points = plan_.workers == 1 ? points_of_chunk : points_of_shared_chunk;
  const std::uint64_t chunk = chosen_++ / points;
  if (chunk != chunk_ && open_) end_chunk(rank);
  chunk_ = chunk;
  if (chunk % plan_.workers != plan_.worker) return true;
  if (rank == plan_.first_rank && chunk < plan_.first_chunk) return true;
  open_ = true;
  return explore_point(point);
}

void Explorer::end_chunk(unsigned rank) {
  tell_tally();
  Frame('C').number(rank).number(chunk_).send();
  open_ = false;
}

bool Explorer::exhausted() const {
  return judge_.states >= plan_.most_states || now_ms() >= plan_.deadline_ms;
}

bool Explorer::explore_point(const Point& point) {
  if (exhausted()) return false;
  points_ += 1;
  const std::vector<Candidate> lines = memory_.candidates();
  unsigned order = 0;
  // Each point has its own dice, so that the budget of one does not change the next.
  return for_each_state(lines, mix(plan_.seed) ^ point.number, [&](const State& state) {
    if (exhausted()) return false;
    const bool main = order++ < main_states;
    if (!judge_.is_new(memory_, state)) {
      duplicates_ += 1;
      return true;
    }
    const Verdict& verdict = judge_.judge(memory_, state, point.position, main);
    if (!verdict.symptom.empty()) {
      fail(point, lines, state, verdict);
    } else if (now_ms() - told_ms_ > tell_every_ms) {
      tell_tally();
    }
    return true;
  });
}

void Explorer::tell_tally() {
  Frame('T')
      .number(judge_.states - told_states_)
      .number(duplicates_)
      .number(points_)
      .number(judge_.time_ns - told_ns_)
      .send();
  told_states_ = judge_.states;
  told_ns_ = judge_.time_ns;
  duplicates_ = points_ = 0;
  told_ms_ = now_ms();
}

void Explorer::fail(const Point& point, const std::vector<Candidate>& lines, const State& state,
                    const Verdict& verdict) {
  tell_tally();
  Frame frame('F');
  frame.number(point.number).number(static_cast<std::uint64_t>(point.at)).number(point.record);
  frame.number(point.position);
  frame.number(static_cast<std::uint64_t>(memory_.done));
  frame.number(static_cast<std::uint64_t>(memory_.begun));
  std::vector<long> in_flight;
  for (const long one : memory_.in_flight) {
    if (one >= 0) in_flight.push_back(one);
  }
  frame.number(in_flight.size());
  for (const long one : in_flight) frame.number(static_cast<std::uint64_t>(one));
  frame.text(verdict.symptom).text(verdict.said);
  frame.number(state.size());
  for (const InState& one : state) frame.number(one.offset).number(one.stores);
  frame.number(lines.size());
  for (const Candidate& one : lines) {
    frame.number(one.offset).number(one.line->flushed_count()).number(one.line->count());
    for (const Store& store : one.line->stores) frame.number(store.record);
  }
  frame.send();
  attend(point.position);
}

void Explorer::attend(std::uint64_t position) {
  for (;;) {
    Taken taken = Taken::take();
    if (taken.type() == 'G') return;
    const bool plainly = taken.type() == 'P';
    const State state = take_state(taken, memory_);
    if (taken.type() == 'I') {
      judge_.send_image(memory_, state);
      continue;
    }
    const Verdict verdict = plainly ? judge_.judge_plainly(memory_, state, position)
                                    : judge_.judge(memory_, state, position, true);
    Frame('V').text(verdict.symptom).text(verdict.said).send();
  }
}

State take_state(Taken& taken, const Memory& memory) {
  State state;
  for (std::uint64_t left = taken.number(); left != 0; --left) {
    const std::uint64_t offset = taken.number();
    const std::uint64_t stores = taken.number();
    const Line* line = memory.line(offset);
    if (line == nullptr || stores == 0 || stores > line->stores.size()) {
      throw std::runtime_error("a state that is none of this point");
    }
    state.push_back({offset, static_cast<unsigned>(stores)});
  }
  return state;
}

}  // namespace nearfar::crash
