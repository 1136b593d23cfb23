// The sets as programs for `nearfar crash`: random operations on all three, and a checker.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::bench {

// Creates the pool if it is absent, then runs `operations`, marked for `nearfar crash`, on the
// list, the hash set and the skip list in turn.
void drive_sets(const std::string& pool, std::uint64_t operations, std::uint64_t seed);

// Prints the keys of all three, the hash set's and the skip list's shifted behind the list's, then
// tests whether each still works.
void dump_sets(const std::string& pool);

// Opens and recovers the pool; throws WrongContent if a set is invalid or, in a pool of
// drive_sets(), if its content does not follow from any prefix of its operations. Then changes each
// set and undoes the change, to detect sets that are valid but unusable.
void check_sets(const std::string& pool);

}  // namespace nearfar::bench
