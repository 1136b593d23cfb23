// Runs a workload and prints its results as a line of JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/kind.hpp"

namespace nearfar::bench {

// Sets up, runs once, verifies, reopens, verifies again.
void run(const Kind& kind, const std::vector<std::string>& words);

// Sets up; then runs each line "OPERATION COUNT" of standard input and answers with a line, so that
// two programs can take turns within a second. At end of input, verifies like `run` and prints a
// last line.
void run_turns(const Kind& kind, const std::vector<std::string>& words);

}  // namespace nearfar::bench
