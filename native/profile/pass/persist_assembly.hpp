// Inline assembly that flushes, fences, or does nothing to memory.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "access.hpp"

namespace nearfar::pass {

// Adds what the assembly flushes and waits for, in its order. False if it holds any other
// instruction: what is known of it counts all the same.
bool add_persist_assembly(llvm::CallBase& call, Accesses& accesses);

}  // namespace nearfar::pass
