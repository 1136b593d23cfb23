#include "crash/explore/states.hpp"

#include <algorithm>

#include "crash/explore/hash.hpp"

namespace nearfar::crash {

namespace {

// Four lines of one store each.
constexpr std::uint64_t all_of_them = 16;
constexpr int random_states = 8;
// Of lines that are taken alone, left out alone, or torn: a page's. More are of one large copy or
// of a program that never flushes, where one line tells what the next one would.
constexpr std::size_t most_lines = 64;
// Of states in the middle of a line's stores: each line of a page, torn at each word, would be 448.
constexpr std::size_t most_middles = 512;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(mix(seed) | 1) {}
  // 0 ... most
  unsigned below_or(unsigned most) {
    // SplitMix64 (Steele, Lea, Flood 2014).
    state_ += 0x9e3779b97f4a7c15ULL;
    return static_cast<unsigned>(mix(state_) % (std::uint64_t{most} + 1));
  }

 private:
  std::uint64_t state_;
};

std::vector<State> all_of(const std::vector<Candidate>& lines) {
  std::vector<State> states{{}};
  for (const Candidate& one : lines) {
    const std::size_t before = states.size();
    for (unsigned stores = 1; stores <= one.line->count(); ++stores) {
      for (std::size_t i = 0; i < before; ++i) {
        states.push_back(states[i]);
        states.back().push_back({one.offset, stores});
      }
    }
  }
  return states;
}

std::vector<Candidate> chosen(const std::vector<Candidate>& lines, Dice& dice) {
  std::vector<Candidate> some = lines;
  if (some.size() <= most_lines) return some;
  std::stable_sort(some.begin(), some.end(), [](const Candidate& a, const Candidate& b) {
    return a.line->point > b.line->point;
  });
  // Half are the latest, half any of the others.
  for (std::size_t i = most_lines / 2; i < most_lines; ++i) {
    std::swap(some[i], some[i + dice.below_or(static_cast<unsigned>(some.size() - i - 1))]);
  }
  some.resize(most_lines);
  return some;
}

State but(const State& whole, std::uint64_t offset, unsigned stores) {
  State state = whole;
  const auto at = std::find_if(state.begin(), state.end(),
                               [&](const InState& one) { return one.offset == offset; });
  if (stores == 0) {
    state.erase(at);
  } else {
    at->stores = stores;
  }
  return state;
}

bool one_by_one(const std::vector<Candidate>& some, const State& whole,
                const std::function<bool(const State&)>& visit) {
  for (const Candidate& one : some) {
    if (!visit({{one.offset, one.line->count()}})) return false;
    if (!visit(but(whole, one.offset, 0))) return false;
  }
  return true;
}

// The first middle of each line comes before the second of any.
bool torn(const std::vector<Candidate>& some, const State& whole,
          const std::function<bool(const State&)>& visit) {
  std::size_t middles = 0;
  bool more = true;
  for (unsigned stores = 1; more && middles < most_middles; ++stores) {
    more = false;
    for (const Candidate& one : some) {
      if (stores >= one.line->count()) continue;
      more = true;
      middles += 1;
      if (!visit({{one.offset, stores}})) return false;
      if (!visit(but(whole, one.offset, stores))) return false;
    }
  }
  return true;
}

bool at_random(const std::vector<Candidate>& lines, Dice& dice,
               const std::function<bool(const State&)>& visit) {
  for (int i = 0; i < random_states; ++i) {
    State state;
    for (const Candidate& one : lines) {
      const unsigned stores = dice.below_or(one.line->count());
      if (stores != 0) state.push_back({one.offset, stores});
    }
    if (!visit(state)) return false;
  }
  return true;
}

}  // namespace

bool for_each_state(const std::vector<Candidate>& lines, std::uint64_t seed,
                    const std::function<bool(const State&)>& visit) {
  std::uint64_t number = 1;
  for (const Candidate& one : lines) {
    number = std::min(number * (one.line->count() + 1), all_of_them + 1);
  }
  if (number <= all_of_them) {
    const std::vector<State> all = all_of(lines);
    return std::all_of(all.begin(), all.end(), visit);
  }
  Dice dice(seed);
  State whole;
  State flushed;
  for (const Candidate& one : lines) {
    whole.push_back({one.offset, one.line->count()});
    const unsigned count = std::min(one.line->flushed_count(), one.line->count());
    if (count != 0) flushed.push_back({one.offset, count});
  }
  const std::vector<Candidate> some = chosen(lines, dice);
  return visit({}) && visit(whole) && visit(flushed) && one_by_one(some, whole, visit) &&
         torn(some, whole, visit) && at_random(lines, dice, visit);
}

}  // namespace nearfar::crash
