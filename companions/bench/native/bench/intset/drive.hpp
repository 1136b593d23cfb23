// The sets as programs for `nearfar crash`: random operations on all three, and a checker.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::bench {

// Makes the pool if it is absent, then does `operations`, each on the list, the hash set or the
// skip list in turn, marked for `nearfar crash`.
void drive_sets(const std::string& pool, std::uint64_t operations, std::uint64_t seed);

// Prints the keys of all three, those of the hash set and the skip list moved behind the list's,
// then tries whether each still works.
void dump_sets(const std::string& pool);

// Opens the pool and lets it recover; throws WrongContent where a set is broken or, of a pool that
// drive_sets() made, holds what no prefix of its operations leaves. Then changes each set and
// undoes that, so that one that looks sound and cannot be used is found.
void check_sets(const std::string& pool);

}  // namespace nearfar::bench
