#include "bench/maps/skip_list.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap skip_list{both<SkipList, Published>("skip-list", "skip list of 24 levels")};
}  // namespace
}  // namespace nearfar::bench
