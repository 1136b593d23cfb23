// The log as a program for `nearfar crash`, and its checker.
#pragma once

#include <cstdint>
#include <string>

#include "bench/log/record_log.hpp"

namespace nearfar::bench {

std::string layout_of_log(Commit commit);

// Throws WrongContent at the first record with wrong content; `words`: length of each record, 0 for
// any.
void check_records(const RecordLog& log, std::uint64_t words);

// Appends records of 1 to 40 words, one per operation; an odd seed commits by checksum.
void drive_log(const std::string& path, std::uint64_t operations, std::uint64_t seed);
void check_log(const std::string& path);

}  // namespace nearfar::bench
