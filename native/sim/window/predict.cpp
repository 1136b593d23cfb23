// Which branches a core would mispredict: two tables of counters and one that chooses between them
// (McFarling, Combining Branch Predictors, 1993). Later predictors are better at long patterns;
// what hurts here, branches on data that was just loaded, no predictor knows.
#include <array>

#include "sim/window/trace.hpp"

namespace nearfar::sim {

namespace {

constexpr unsigned index_bits = 14;
constexpr std::uint32_t entries = 1u << index_bits;

class Counters {
 public:
  bool taken(std::uint32_t at) const { return counters_[at] >= 2; }
  void learn(std::uint32_t at, bool up) {
    std::uint8_t& counter = counters_[at];
    if (up && counter < 3) ++counter;
    if (!up && counter > 0) --counter;
  }

 private:
  std::array<std::uint8_t, entries> counters_{};
};

class Predictor {
 public:
  // Tells whether the guess was wrong, and learns.
  bool mistakes(std::uint64_t address, bool taken) {
    const auto place =
        static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15ull) >> 40) % entries;
    const std::uint32_t with_history = (place ^ history_) % entries;
    const bool local = local_.taken(place);
    const bool global = global_.taken(with_history);
    const bool guess = choice_.taken(place) ? global : local;
    if (local != global) choice_.learn(place, global == taken);
    local_.learn(place, taken);
    global_.learn(with_history, taken);
    history_ = history_ << 1 | (taken ? 1u : 0u);
    return guess != taken;
  }

 private:
  Counters local_;
  Counters global_;
  Counters choice_;
  std::uint32_t history_ = 0;
};

void go_through(const Trace& trace, Burst& burst, Predictor& predictor) {
  burst.mispredicted.assign(burst.blocks.size(), false);
  for (std::size_t i = 0; i + 1 < burst.blocks.size(); ++i) {
    const Block& block = trace.blocks[burst.blocks[i]];
    const std::uint32_t last = block.first + block.count - 1;
    if (block.count == 0 || trace.code.conditional[last] == 0) continue;
    const bool taken = trace.blocks[burst.blocks[i + 1]].begin != block.end;
    burst.mispredicted[i] = predictor.mistakes(block.end, taken);
  }
}

}  // namespace

void predict(Trace& trace) {
  if (trace.bursts.empty()) return;
  Predictor predictor;
  // A core has seen the code before. To go through all bursts twice would be too much of it: the
  // tables would know by heart what no predictor can know.
  if (trace.bursts.size() > 1) go_through(trace, trace.bursts.back(), predictor);
  for (Burst& burst : trace.bursts) go_through(trace, burst, predictor);
}

}  // namespace nearfar::sim
