// Groups with one base in different blocks share the expensive part of their tests.
//
// The first group computes the distance to the base's next sampled line. The groups that it
// dominates only compare this distance with their own bytes. Each group still reports its own
// access in its cold call.
#pragma once

#include <llvm/IR/Dominators.h>

#include <vector>

#include "group.hpp"

namespace nearfar::pass {

struct Anchor {
  std::size_t group;  // the group that computes the distance
  std::int64_t low;   // byte range from the base that the groups touch, at most a line long
  std::int64_t high;
  std::size_t members;
  llvm::Value* distance = nullptr;

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(high - low); }
};

struct Anchors {
  std::vector<Anchor> all;
  std::vector<std::size_t> of_group;  // index into `all`, or none

  static constexpr std::size_t none = SIZE_MAX;
  // Returns the anchor that `group` shares with others, or null.
  Anchor* shared_by(std::size_t group);
};

// `groups` must be ordered so that dominating groups are first; groups that are already `taken` are
// skipped.
Anchors find_anchors(const std::vector<Group>& groups, const std::vector<bool>& taken,
                     const llvm::DominatorTree& dominators);

}  // namespace nearfar::pass
