// Names memory that only the compiler can name: large variables, and Fortran allocations, for which
// flang may not give source lines.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace nearfar::pass {

// Registers each large variable that the module defines with the runtime; `builder` is in the
// module's constructor, after the module's registration.
void register_variables(llvm::Module& module, llvm::IRBuilder<>& builder);

// Tags each allocation in a Fortran function with the name of the variable that receives it.
void tag_allocations(llvm::Function& function);

}  // namespace nearfar::pass
