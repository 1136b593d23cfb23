// Hoists streams out of innermost loops.
//
// A loop whose streams each stay within about 4 KiB is short: an inline test before it checks each
// stream for a sampled line and reports that line at once. The order of the loop's accesses is
// lost, but only within fewer accesses than evict a line from a cache.
//
// A longer loop counts down: the runtime computes the first iteration that enters a sampled line;
// that iteration reports, in order with the loop's other accesses, and gets the next count. The
// order is preserved to the iteration, an early exit reports no access that did not happen, and an
// iteration costs one decrement for any number of streams.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <vector>

#include "group.hpp"
#include "insert.hpp"

namespace nearfar::pass {

class LoopPlan {
 public:
  LoopPlan(llvm::Function& function, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution,
           llvm::DominatorTree& dominators)
      : function_(function), loops_(loops), evolution_(evolution), dominators_(dominators) {}

  // Chooses the groups that become streams: true at their index.
  std::vector<bool> choose(const std::vector<Group>& groups);

  // Inserts the chosen streams into the function.
  void apply(const std::vector<Group>& groups, const std::vector<nf_class>& classes,
             Inserter& inserter);

 private:
  struct Stream {
    std::size_t group;
    const llvm::SCEV* start;  // address in iteration 0, an integer
    std::int64_t step;
    std::uint64_t bytes;
    std::vector<std::size_t> merged;  // all groups in this stream
    bool stores;
    nf_operation operation;
    llvm::Value* first_address = nullptr;
    llvm::Value* low = nullptr;  // first and last byte that the loop touches
    llvm::Value* high = nullptr;
    std::uint32_t site = 0;
  };
  struct Hoisted {
    llvm::Loop* loop;
    const llvm::SCEV* back_edges;  // number of back edges that the loop takes, i64
    std::vector<Stream> streams;
    llvm::Value* is_long = nullptr;
  };

  bool is_suitable(llvm::Loop& loop) const;
  bool runs_every_iteration(const llvm::BasicBlock* block, const llvm::Loop& loop) const;
  bool add_stream(Hoisted& hoisted, const Group& group, std::size_t index);
  bool extend_stream(Hoisted& hoisted, const Stream& stream);
  void compute_extents(Hoisted& hoisted, const Filter& filter);
  void instrument(Hoisted& hoisted, Inserter& inserter, llvm::Value* frame);
  void report_rows(const Hoisted& hoisted, llvm::Instruction* at, Inserter& inserter);
  llvm::Value* fill_frame(const Hoisted& hoisted, llvm::Instruction* at, Inserter& inserter,
                          llvm::Value* frame);
  void count_down(const Hoisted& hoisted, llvm::PHINode* first, Inserter& inserter,
                  llvm::Value* frame);

  llvm::Function& function_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  std::vector<Hoisted> hoisted_;
};

}  // namespace nearfar::pass
