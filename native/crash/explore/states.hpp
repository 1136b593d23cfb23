// States of a failure point, in the order of judging.
//
// If there are at most 16, all of them. Otherwise: no line, all lines, the flushed lines, each line
// alone, all but each line, each line in the middle of its stores, and eight random states. Of very
// many lines a sample is varied, the most recent first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "crash/explore/memory.hpp"

namespace nearfar::crash {

// Of a point with long lines, most states are in the middle of a line: they come in a later pass.
enum class States { all, whole_lines, torn_and_random };
bool has_long_lines(const std::vector<Candidate>& lines);

// Calls visit(state) for each until it returns false; returns whether it never did.
bool for_each_state(const std::vector<Candidate>& lines, std::uint64_t seed,
                    const std::function<bool(const State&)>& visit, States which = States::all);

// Number of main states, which come first: no line, all lines, the flushed lines.
constexpr unsigned main_states = 3;

}  // namespace nearfar::crash
