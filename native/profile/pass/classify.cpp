#include "classify.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace llvm;

namespace nearfar::pass {

namespace {

// Collects the inputs of a value's computation within a loop (or, without a loop, within the
// function).
struct Slice {
  SmallPtrSet<const Value*, 32> seen;
  SmallVector<const LoadInst*, 8> loads;
  SmallPtrSet<const PHINode*, 8> phis;
};

enum class Through { arithmetic, loads_too };

void collect(const Value* start, const Loop* loop, Through through, Slice& slice) {
  SmallVector<const Value*, 16> todo{start};
  while (!todo.empty()) {
    const auto* instruction = dyn_cast<Instruction>(todo.pop_back_val());
    if (instruction == nullptr || (loop != nullptr && !loop->contains(instruction))) continue;
    if (!slice.seen.insert(instruction).second) continue;
    if (const auto* load = dyn_cast<LoadInst>(instruction)) {
      slice.loads.push_back(load);
      if (through == Through::loads_too) todo.push_back(load->getPointerOperand());
      continue;
    }
    if (isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction)) continue;
    if (const auto* phi = dyn_cast<PHINode>(instruction)) slice.phis.insert(phi);
    for (const Value* operand : instruction->operands()) todo.push_back(operand);
  }
}

// Whether the value that `phi` carries around the loop was loaded from an address that depends on
// `phi`.
bool carries_own_load(const PHINode& phi, const Loop& loop) {
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    if (!loop.contains(phi.getIncomingBlock(i))) continue;
    Slice back;
    collect(phi.getIncomingValue(i), &loop, Through::arithmetic, back);
    for (const LoadInst* load : back.loads) {
      Slice address;
      collect(load->getPointerOperand(), &loop, Through::loads_too, address);
      if (address.phis.contains(&phi)) return true;
    }
  }
  return false;
}

}  // namespace

nf_class classify(const Instruction& instruction, Value* pointer, const LoopInfo& loops,
                  ScalarEvolution& evolution) {
  for (const Loop* loop = loops.getLoopFor(instruction.getParent()); loop != nullptr;
       loop = loop->getParentLoop()) {
    if (loop->isLoopInvariant(pointer)) continue;
    if (evolution.isSCEVable(pointer->getType())) {
      const SCEV* address = evolution.getSCEV(pointer);
      const auto* recurrence = dyn_cast<SCEVAddRecExpr>(address);
      if (recurrence != nullptr && recurrence->getLoop() == loop) return NF_STREAM;
      if (evolution.isLoopInvariant(address, loop)) continue;
    }
    Slice slice;
    collect(pointer, loop, Through::loads_too, slice);
    if (slice.loads.empty()) return NF_OPAQUE;
    for (const PHINode* phi : slice.phis)
      if (phi->getParent() == loop->getHeader() && carries_own_load(*phi, *loop)) return NF_CHASE;
    return NF_INDIRECT;
  }
  Slice slice;
  collect(pointer, nullptr, Through::arithmetic, slice);
  return slice.loads.empty() ? NF_OPAQUE : NF_INDIRECT;
}

}  // namespace nearfar::pass
