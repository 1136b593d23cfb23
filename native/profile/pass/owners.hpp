// Names of memory that only the compiler knows: large variables, and what Fortran allocates, whose
// source lines flang may not give.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace nearfar::pass {

// Lets the runtime know each large variable that the module defines; `builder` is in the module's
// constructor, after its registration.
void register_variables(llvm::Module& module, llvm::IRBuilder<>& builder);

// Tags what a Fortran function allocates by the variable that receives it.
void tag_allocations(llvm::Function& function);

}  // namespace nearfar::pass
