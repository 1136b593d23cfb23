// Predicts branches with two tables of counters and one that chooses between them (McFarling,
// Combining Branch Predictors, 1993). Newer predictors are better at long patterns, but none
// predicts branches on data that was just loaded, which matter most here.
#include <array>

#include "sim/window/trace.hpp"

namespace nearfar::sim {

namespace {

constexpr unsigned index_bits = 14;
constexpr std::uint32_t table_entries = 1u << index_bits;

class Counters {
 public:
  bool taken(std::uint32_t at) const { return counters_[at] >= 2; }
  void learn(std::uint32_t at, bool up) {
    std::uint8_t& counter = counters_[at];
    if (up && counter < 3) ++counter;
    if (!up && counter > 0) --counter;
  }

 private:
  std::array<std::uint8_t, table_entries> counters_{};
};

class Predictor {
 public:
  // Returns whether the branch is mispredicted, and updates the tables with its direction.
  bool mispredicts(std::uint64_t address, bool taken) {
    const auto index =
        static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15ull) >> 40) % table_entries;
    const std::uint32_t with_history = (index ^ history_) % table_entries;
    const bool local = local_.taken(index);
    const bool global = global_.taken(with_history);
    const bool guess = choice_.taken(index) ? global : local;
    if (local != global) choice_.learn(index, global == taken);
    local_.learn(index, taken);
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

void predict_burst(const Trace& trace, Burst& burst, Predictor& predictor) {
  burst.mispredicted.assign(burst.blocks.size(), 0);
  for (std::size_t i = 0; i + 1 < burst.blocks.size(); ++i) {
    const Block& block = trace.blocks[burst.blocks[i]];
    const std::uint32_t last = block.first + block.count - 1;
    if (block.count == 0 || trace.code.conditional[last] == 0) continue;
    const bool taken = trace.blocks[burst.blocks[i + 1]].begin != block.end;
    burst.mispredicted[i] = predictor.mispredicts(block.end, taken) ? 1 : 0;
  }
}

}  // namespace

void predict(Trace& trace) {
  if (trace.bursts.empty()) return;
  Predictor predictor;
  // Trains the predictor with one burst. All bursts would be too many: the tables would memorise
  // what no predictor can know in advance.
  if (trace.bursts.size() > 1) predict_burst(trace, trace.bursts.back(), predictor);
  for (Burst& burst : trace.bursts) predict_burst(trace, burst, predictor);
}

}  // namespace nearfar::sim
