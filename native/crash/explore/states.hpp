// States of a failure point, in the order of judging.
//
// If there are at most 16 states, all of them are judged. Otherwise: no line, all lines, the
// flushed lines, each line alone, all lines but one, each line in the middle of its stores, and
// eight random states. If there are very many lines, a sample is varied, the most recent ones
// first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "crash/explore/memory.hpp"

namespace nearfar::crash {

// Most states of a point with long lines are in the middle of a line: a later pass judges these.
enum class States { all, whole_lines, torn_and_random };
bool has_long_lines(const std::vector<Candidate>& lines);

// Calls visit(state) for each state until it returns false; returns whether all were visited.
bool for_each_state(const std::vector<Candidate>& lines, std::uint64_t seed,
                    const std::function<bool(const State&)>& visit, States which = States::all);

// Number of main states, which are first: no line, all lines, the flushed lines.
constexpr unsigned main_states = 3;

}  // namespace nearfar::crash
