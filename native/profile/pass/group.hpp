// Accesses off one base that one test stands for.
#pragma once

#include <llvm/Analysis/ScalarEvolution.h>

#include <cstdint>
#include <vector>

#include "../abi.h"
#include "access.hpp"

namespace nearfar::pass {

struct Group {
  Access leader;                     // the first access; the test stands before it
  const llvm::SCEV* base = nullptr;  // the pointer less its constant part
  std::int64_t offset = 0;           // of the leader's pointer from the base
  std::int64_t low = 0;  // bytes [low, high) from the base are tested, at most one line's worth
  std::int64_t high = 0;
  std::uint64_t alignment = 1;  // of the base, as far as is known
  bool stores = false;
  nf_operation operation = NF_LOAD;

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(high - low); }
  // Whether the bytes may lie in two lines.
  bool may_straddle() const;
};

// Merges accesses of one block, with no call between them, less than a line apart; and loads in
// a block entered only from one already tested there. `merge` false: a group per access.
std::vector<Group> group_accesses(llvm::Function& function, const std::vector<Access>& accesses,
                                  llvm::ScalarEvolution& evolution, bool merge);

}  // namespace nearfar::pass
