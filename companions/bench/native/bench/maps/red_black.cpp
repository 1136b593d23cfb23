#include "bench/maps/red_black.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap red_black{both<RedBlack, Transactional>("red-black", "red-black tree")};
}  // namespace
}  // namespace nearfar::bench
