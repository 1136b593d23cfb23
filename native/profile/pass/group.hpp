// Accesses with one base that share a test.
#pragma once

#include <llvm/Analysis/ScalarEvolution.h>

#include <cstdint>
#include <vector>

#include "../abi.h"
#include "access.hpp"

namespace nearfar::pass {

struct Member {
  Access access;
  bool always;  // whether it always follows when the group's test runs
};

struct Group {
  Access leader;                     // the first access; the test precedes it
  const llvm::SCEV* base = nullptr;  // the pointer without its constant offset
  std::int64_t offset = 0;           // offset of the leader's pointer from the base
  std::int64_t low = 0;              // bytes [low, high) from the base are tested, at most a line
  std::int64_t high = 0;
  std::uint64_t alignment = 1;  // known alignment of the base
  bool stores = false;
  nf_operation operation = NF_LOAD;
  std::vector<Member> members;  // all accesses, the leader first

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(high - low); }
  // Whether the bytes may be in two lines.
  bool may_straddle() const;
};

// Merges accesses of a block that have no call between them and are within one line, and loads in a
// block whose only predecessor tested the same line. If `merge` is false, each access is a group.
std::vector<Group> group_accesses(llvm::Function& function, const std::vector<Access>& accesses,
                                  llvm::ScalarEvolution& evolution, bool merge);

}  // namespace nearfar::pass
