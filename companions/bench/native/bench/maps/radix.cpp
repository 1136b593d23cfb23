#include "bench/maps/radix.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap radix{both<Radix, Published>("radix", "radix tree over 4-bit digits")};
}  // namespace
}  // namespace nearfar::bench
