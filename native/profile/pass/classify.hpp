// Access class from the code alone (enum nf_class of abi.h).
//  stream    the address advances by a constant around the innermost loop in which it varies
//  chase     it depends on a load whose address depends on the same load of the previous iteration
//  indirect  it depends on a load, but not around the loop
//  opaque    it varies without depending on a load
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>

#include "../abi.h"

namespace nearfar::pass {

// stream    the address advances by a constant around the innermost loop in which it varies
// chase     it depends on a load whose own address depends on the loop's previous such load
// indirect  it depends on a load, but not around the loop
// opaque    it varies, and no load is in sight
nf_class classify(const llvm::Instruction& instruction, llvm::Value* pointer,
                  const llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution);

}  // namespace nearfar::pass
