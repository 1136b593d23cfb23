// The module's table of sites, its registration, and the note on functions without instrumentation.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../abi.h"

namespace nearfar::pass {

class Sites {
 public:
  Sites(llvm::Module& module, unsigned rate_log2);

  // Adds a site at `instruction`'s source location that touches `fields` (of Fields); returns its
  // index in the module.
  std::uint32_t add(const llvm::Instruction& instruction, std::uint64_t bytes, nf_operation,
                    nf_class, llvm::StringRef fields, std::uint64_t tests_per_line = 1);

  // Returns the site's ID in the whole program, known only at run time, after registration.
  llvm::Value* id(llvm::IRBuilder<>& builder, std::uint32_t index);

  // Returns whether the module was registered with an active runtime.
  llvm::Value* is_traced(llvm::IRBuilder<>& builder);

  // Records that `function` is not, or not completely, instrumented, and why.
  void skip(const llvm::Function& function, llvm::StringRef reason);

  // Writes table, constructor and note into the module.
  void finish();

 private:
  llvm::Constant* string(llvm::StringRef text);
  llvm::StructType* module_type() const;
  llvm::Value* first_site(llvm::IRBuilder<>& builder);

  llvm::Module& module_;
  unsigned rate_log2_;
  llvm::GlobalVariable* record_;  // struct nf_module
  std::vector<llvm::Constant*> sites_;
  // Equal accesses at one source location (of an unrolled loop) are one site.
  llvm::DenseMap<llvm::Constant*, std::uint32_t> indices_;
  llvm::StringMap<llvm::Constant*> strings_;
  std::string note_;
};

}  // namespace nearfar::pass
