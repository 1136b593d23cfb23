// Inserts the tests and the cold calls into a function.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "access.hpp"
#include "anchor.hpp"
#include "fields.hpp"
#include "filter.hpp"
#include "group.hpp"
#include "options.hpp"
#include "sites.hpp"

namespace nearfar::pass {

// Functions of the runtime library, as declared in this module.
struct Entries {
  explicit Entries(llvm::Module& module);
  llvm::FunctionCallee access;
  llvm::FunctionCallee span;
  llvm::FunctionCallee range;
  llvm::FunctionCallee row;
  llvm::FunctionCallee string;
  llvm::FunctionCallee loop;
  llvm::FunctionCallee flush;
  llvm::FunctionCallee stream_store;
  llvm::FunctionCallee fence;
};

class Inserter {
 public:
  Inserter(llvm::Module& module, const Options& options, Sites& sites, const Fields& fields);

  // `anchor` is shared with the tests of other groups (may be null); `is_first`: this group
  // computes the distance.
  void group(const Group& group, nf_class access_class, Anchor* anchor, bool is_first);
  void lanes(const LaneAccess& access, nf_class access_class);
  void range(const RangeAccess& access, nf_class access_class);
  void string(const StringAccess& access, nf_class access_class);

  // These are reported for every line, sampled or not.
  void flush(const Flush& flush);
  void stream_store(const StreamStore& store);
  void fence(llvm::Instruction* before);

  // Returns a block before `before` that runs only if `sampled`, or `before` itself if that is
  // constant.
  llvm::Instruction* cold(llvm::Value* sampled, llvm::Instruction* before);

  const Filter& filter() const { return filter_; }
  const Entries& entries() const { return entries_; }
  Sites& sites() { return sites_; }
  const Fields& fields() const { return fields_; }
  unsigned rate_log2() const { return options_.rate_log2; }

 private:
  llvm::Value* is_sampled(llvm::IRBuilder<>& builder, const Group& group, Anchor* anchor,
                          bool is_first);

  const Options& options_;
  Filter filter_;
  Entries entries_;
  Sites& sites_;
  const Fields& fields_;
};

}  // namespace nearfar::pass
