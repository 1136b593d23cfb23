// The store as a program for `nearfar crash`, and its checker.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::bench {

// Puts of a few keys, a small log: checkpoints come often.
void drive_store(const std::string& path, std::uint64_t operations, std::uint64_t seed);
// Every key must have one of its values as a whole, and a put must still work.
void check_store(const std::string& path);
// Prints each key and the version of its value.
void dump_store(const std::string& path);

}  // namespace nearfar::bench
