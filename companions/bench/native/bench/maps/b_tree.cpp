#include "bench/maps/b_tree.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap b_tree{both<BTree, Transactional>("b-tree", "B-tree, 15 items a node")};
}  // namespace
}  // namespace nearfar::bench
