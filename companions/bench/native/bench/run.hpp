// Runs one workload and prints what was measured, a line of JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/kind.hpp"

namespace nearfar::bench {

// Sets up, runs once, verifies, opens anew, verifies again.
void run(const Kind& kind, const std::vector<std::string>& words);

// Sets up; then each line "OPERATION COUNT" of standard input is run and answered by a line, so
// that two programs can take turns within a second of each other. At the end of input verifies as
// `run` does, and says so in a last line.
void run_turns(const Kind& kind, const std::vector<std::string>& words);

}  // namespace nearfar::bench
