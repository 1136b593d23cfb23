// Inline assembly that flushes, fences, or does not touch memory.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "access.hpp"

namespace nearfar::pass {

// Adds the flushes and fences in the assembly, in order. Returns false if it contains any other
// instruction; the known ones are added in any case.
bool add_persist_assembly(llvm::CallBase& call, Accesses& accesses);

}  // namespace nearfar::pass
