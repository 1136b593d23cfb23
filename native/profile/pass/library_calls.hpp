// The C library's functions that walk memory; the library itself is not instrumented.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "access.hpp"

namespace nearfar::pass {

// Adds the memory that a call of a known mem* or str* function touches; other calls add nothing.
void add_library_call(llvm::CallBase& call, const llvm::DataLayout& layout, Accesses& accesses);

}  // namespace nearfar::pass
