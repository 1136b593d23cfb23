// C library functions that touch memory; the library itself is not instrumented.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "access.hpp"

namespace nearfar::pass {

// Adds the accesses of a call to a known mem* or str* function.
void add_library_call(llvm::CallBase& call, const llvm::DataLayout& layout, Accesses& accesses);

}  // namespace nearfar::pass
