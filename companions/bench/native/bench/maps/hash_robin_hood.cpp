#include "bench/maps/hash_robin_hood.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap robin_hood{both<HashRobinHood, Published>(
    "hash-robin-hood", "Robin Hood hashing; in a pool by published redo logs")};
}  // namespace
}  // namespace nearfar::bench
