// The store as a program for `nearfar crash`, and its checker.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::bench {

// Puts a few keys with a small log, so that checkpoints are frequent.
void drive_store(const std::string& path, std::uint64_t operations, std::uint64_t seed);
// Throws unless every key has a complete value and a put still works.
void check_store(const std::string& path);
// Prints each key and the version of its value.
void dump_store(const std::string& path);

}  // namespace nearfar::bench
