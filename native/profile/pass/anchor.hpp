// Groups off one base in different blocks that share the costly part of their tests.
//
// The first computes how far the base's next sampled line is; the others, which it dominates, only
// compare that with what they may touch. Each still reports for itself, exactly, in its cold call.
#pragma once

#include <llvm/IR/Dominators.h>

#include <vector>

#include "group.hpp"

namespace nearfar::pass {

struct Anchor {
  std::size_t group;  // the one that computes the distance
  std::int64_t low;   // bytes from the base that the sharing groups touch, a line's worth at most
  std::int64_t high;
  std::size_t members;
  llvm::Value* distance = nullptr;

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(high - low); }
};

struct Anchors {
  std::vector<Anchor> all;
  std::vector<std::size_t> of_group;  // index into `all`, or none

  static constexpr std::size_t none = SIZE_MAX;
  // The anchor that `group` shares with others, or null.
  Anchor* shared_by(std::size_t group);
};

// `groups` are in an order in which dominating ones come first; those `taken` are left out.
Anchors find_anchors(const std::vector<Group>& groups, const std::vector<bool>& taken,
                     const llvm::DominatorTree& dominators);

}  // namespace nearfar::pass
