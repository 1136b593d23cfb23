#include "crash/explore/states.hpp"

#include <algorithm>

#include "crash/explore/hash.hpp"

namespace nearfar::crash {

namespace {

// All states of four lines with one store each are 16.
constexpr std::uint64_t max_exhaustive = 16;
constexpr int random_states = 8;
// At most the lines of one page are varied one at a time. More lines come from a large copy or from
// a program that never flushes, where all lines show the same bug.
constexpr std::size_t max_lines = 64;
// Limit of states in the middle of a line's stores: tearing each line of a page at each word would
// give 448.
constexpr std::size_t max_torn_states = 512;
// More states at one point would delay the first report.
constexpr std::size_t max_torn_at_once = 64;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(mix(seed) | 1) {}
  // Returns 0 to `limit`.
  unsigned up_to(unsigned limit) {
    // SplitMix64 (Steele, Lea, Flood 2014).
    state_ += 0x9e3779b97f4a7c15ULL;
    return static_cast<unsigned>(mix(state_) % (std::uint64_t{limit} + 1));
  }

 private:
  std::uint64_t state_;
};

std::vector<State> all_of(const std::vector<Candidate>& lines) {
  std::vector<State> states{{}};
  for (const Candidate& candidate : lines) {
    const std::size_t before = states.size();
    for (unsigned stores = 1; stores <= candidate.line->count(); ++stores) {
      for (std::size_t i = 0; i < before; ++i) {
        states.push_back(states[i]);
        states.back().push_back({candidate.offset, stores});
      }
    }
  }
  return states;
}

std::vector<Candidate> sample(const std::vector<Candidate>& lines, Dice& dice) {
  std::vector<Candidate> sampled = lines;
  if (sampled.size() <= max_lines) return sampled;
  std::stable_sort(sampled.begin(), sampled.end(), [](const Candidate& a, const Candidate& b) {
    return a.line->point > b.line->point;
  });
  // Half of the lines are the most recent ones, half are drawn from the others.
  for (std::size_t i = max_lines / 2; i < max_lines; ++i) {
    std::swap(sampled[i], sampled[i + dice.up_to(static_cast<unsigned>(sampled.size() - i - 1))]);
  }
  sampled.resize(max_lines);
  return sampled;
}

State with_stores(const State& whole, std::uint64_t offset, unsigned stores) {
  State state = whole;
  const auto at = std::find_if(state.begin(), state.end(),
                               [&](const InState& written) { return written.offset == offset; });
  if (stores == 0) {
    state.erase(at);
  } else {
    at->stores = stores;
  }
  return state;
}

bool visit_single_lines(const std::vector<Candidate>& sampled, const State& whole,
                        const std::function<bool(const State&)>& visit) {
  for (const Candidate& candidate : sampled) {
    if (!visit({{candidate.offset, candidate.line->count()}})) return false;
    if (!visit(with_stores(whole, candidate.offset, 0))) return false;
  }
  return true;
}

// The first store of every line is tried before the second store of any line.
bool visit_torn(const std::vector<Candidate>& sampled, const State& whole,
                const std::function<bool(const State&)>& visit) {
  std::size_t torn_states = 0;
  bool more = true;
  for (unsigned stores = 1; more && torn_states < max_torn_states; ++stores) {
    more = false;
    for (const Candidate& candidate : sampled) {
      if (stores >= candidate.line->count()) continue;
      more = true;
      torn_states += 1;
      if (!visit({{candidate.offset, stores}})) return false;
      if (!visit(with_stores(whole, candidate.offset, stores))) return false;
    }
  }
  return true;
}

bool visit_random(const std::vector<Candidate>& lines, Dice& dice,
                  const std::function<bool(const State&)>& visit) {
  for (int i = 0; i < random_states; ++i) {
    State state;
    for (const Candidate& candidate : lines) {
      const unsigned stores = dice.up_to(candidate.line->count());
      if (stores != 0) state.push_back({candidate.offset, stores});
    }
    if (!visit(state)) return false;
  }
  return true;
}

}  // namespace

bool has_long_lines(const std::vector<Candidate>& lines) {
  std::size_t torn_states = 0;
  for (const Candidate& candidate : lines)
    torn_states += std::size_t{2} * (candidate.line->count() - 1);
  return torn_states > max_torn_at_once;
}

bool for_each_state(const std::vector<Candidate>& lines, std::uint64_t seed,
                    const std::function<bool(const State&)>& visit, States which) {
  std::uint64_t number = 1;
  for (const Candidate& candidate : lines) {
    number = std::min(number * (candidate.line->count() + 1), max_exhaustive + 1);
  }
  if (number <= max_exhaustive) {
    const std::vector<State> all = all_of(lines);
    return std::all_of(all.begin(), all.end(), visit);
  }
  Dice dice(seed);
  State whole;
  State flushed;
  for (const Candidate& candidate : lines) {
    whole.push_back({candidate.offset, candidate.line->count()});
    const unsigned count = std::min(candidate.line->flushed_count(), candidate.line->count());
    if (count != 0) flushed.push_back({candidate.offset, count});
  }
  const std::vector<Candidate> sampled = sample(lines, dice);
  if (which != States::torn_and_random &&
      !(visit({}) && visit(whole) && visit(flushed) && visit_single_lines(sampled, whole, visit))) {
    return false;
  }
  return which == States::whole_lines ||
         (visit_torn(sampled, whole, visit) && visit_random(lines, dice, visit));
}

}  // namespace nearfar::crash
