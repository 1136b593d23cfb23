// Which states of a failure point are judged, in which order.
//
// All that there are, where those are 16 or fewer. Otherwise: none of the lines, all, what was
// flushed, each line alone, all but each, each line in the middle of its stores, and eight at
// random. Of very many lines, some: the last stored to first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "crash/explore/memory.hpp"

namespace nearfar::crash {

// Calls visit(state) for each until it returns false; returns whether it never did.
bool for_each_state(const std::vector<Candidate>& lines, std::uint64_t seed,
                    const std::function<bool(const State&)>& visit);

// How many of the first states are the main ones: none, all, what was flushed.
constexpr unsigned main_states = 3;

}  // namespace nearfar::crash
