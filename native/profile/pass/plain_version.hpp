// A copy of each instrumented function without tests, which runs while the program is not traced.
//
// The choice is made when the module registers: the module's first site is 0 unless it was
// registered with an active runtime. A function tests this once, on entry.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>

#include <vector>

#include "sites.hpp"

namespace nearfar::pass {

class PlainVersions {
 public:
  explicit PlainVersions(Sites& sites) : sites_(sites) {}

  // Copies `function`, which is not instrumented yet, unless its code must exist only once.
  void keep(llvm::Function& function);

  // Makes the entry of each copied function choose a version, and lets each version call versions
  // of its own kind.
  void finish();

 private:
  struct Versions {
    llvm::Function* traced;
    llvm::Function* plain;
  };

  void bind_plain_calls();
  void choose_on_entry(const Versions& versions);

  Sites& sites_;
  std::vector<Versions> kept_;
  llvm::SmallPtrSet<const llvm::Function*, 16> traced_;
};

}  // namespace nearfar::pass
