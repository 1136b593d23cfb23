#include "bench/maps/crit_bit.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap crit_bit{both<CritBit, Transactional>("crit-bit", "crit-bit tree")};
}  // namespace
}  // namespace nearfar::bench
