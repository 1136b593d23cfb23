#include "group.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "filter.hpp"

using namespace llvm;

namespace nearfar::pass {

namespace {

std::int64_t round_down(std::int64_t value, std::uint64_t alignment) {
  return value & ~static_cast<std::int64_t>(alignment - 1);
}

// Groups that later accesses of the block may join, by base.
using Open = DenseMap<const SCEV*, SmallVector<std::size_t, 2>>;

// Splits a pointer into a varying part and a constant offset: &a[i].x and &a[i].y have the same
// base.
std::pair<const SCEV*, std::int64_t> split_pointer(Value* pointer, ScalarEvolution& evolution) {
  const SCEV* whole = evolution.getSCEV(pointer);
  const SCEV* part = whole;
  while (const auto* recurrence = dyn_cast<SCEVAddRecExpr>(part)) part = recurrence->getStart();
  const auto* sum = dyn_cast<SCEVAddExpr>(part);
  const auto* constant = sum != nullptr ? dyn_cast<SCEVConstant>(sum->getOperand(0)) : nullptr;
  if (constant == nullptr || constant->getAPInt().getSignificantBits() > 32) return {whole, 0};
  const std::int64_t offset = constant->getAPInt().getSExtValue();
  const SCEV* back = evolution.getConstant(evolution.getEffectiveSCEVType(whole->getType()),
                                           static_cast<std::uint64_t>(-offset), true);
  return {evolution.getAddExpr(whole, back), offset};
}

std::uint64_t base_alignment(const Access& access, std::int64_t offset) {
  const std::uint64_t alignment = std::min<std::uint64_t>(access.alignment, line_bytes);
  return offset % static_cast<std::int64_t>(alignment) == 0 ? alignment : 1;
}

// Whether the lines that the group's test covers include [low, high).
bool covers(const Group& group, std::int64_t low, std::int64_t high) {
  return low >= round_down(group.low, group.alignment) &&
         high <= round_down(group.high + static_cast<std::int64_t>(group.alignment) - 1,
                            group.alignment);
}

bool join_in_block(Group& group, const Access& access, std::int64_t offset) {
  const std::int64_t end = offset + static_cast<std::int64_t>(access.bytes);
  const std::int64_t low = std::min(group.low, offset);
  const std::int64_t high = std::max(group.high, end);
  if (high - low > line_bytes) return false;
  group.members.push_back({access, true});
  group.low = low;
  group.high = high;
  group.alignment = std::max(group.alignment, base_alignment(access, offset));
  if (access.stores && !group.stores) {
    group.stores = true;
    group.operation = NF_BOTH;
  }
  return true;
}

bool join_from_before(Group& group, const Access& access, std::int64_t offset) {
  // A store would have to make the line dirty, but this block may not be executed.
  if (access.stores && !group.stores) return false;
  if (!covers(group, offset, offset + static_cast<std::int64_t>(access.bytes))) return false;
  group.members.push_back({access, false});
  return true;
}

Group begin_group(const Access& access, const SCEV* base, std::int64_t offset) {
  Group group;
  group.base = base;
  group.leader = access;
  group.members.push_back({access, true});
  group.offset = offset;
  group.low = offset;
  group.high = offset + static_cast<std::int64_t>(access.bytes);
  group.alignment = base_alignment(access, offset);
  group.stores = access.stores;
  group.operation = !access.stores ? NF_LOAD : access.loads ? NF_BOTH : NF_STORE;
  return group;
}

bool may_run_other_code(const Instruction& instruction) {
  return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction);
}

}  // namespace

bool Group::may_straddle() const {
  for (std::uint64_t place = 0; place < line_bytes; place += alignment) {
    const auto at = static_cast<std::int64_t>(place);
    if (round_down(at + low, line_bytes) != round_down(at + high - 1, line_bytes)) return true;
  }
  return false;
}

std::vector<Group> group_accesses(Function& function, const std::vector<Access>& accesses,
                                  ScalarEvolution& evolution, bool merge) {
  DenseMap<const Instruction*, const Access*> by_instruction;
  for (const Access& access : accesses) by_instruction[access.instruction] = &access;

  std::vector<Group> groups;
  DenseMap<const BasicBlock*, Open> at_end;
  ReversePostOrderTraversal<Function*> order(&function);
  for (BasicBlock* block : order) {
    Open open;         // groups begun in this block
    Open from_before;  // groups tested in the only predecessor
    if (const BasicBlock* before = block->getSinglePredecessor()) {
      const auto known = at_end.find(before);
      if (merge && known != at_end.end()) from_before = known->second;
    }
    for (Instruction& instruction : *block) {
      const auto entry = by_instruction.find(&instruction);
      if (entry == by_instruction.end()) {
        if (may_run_other_code(instruction)) {
          open.clear();
          from_before.clear();
        }
        continue;
      }
      const Access& access = *entry->second;
      const auto [base, offset] = split_pointer(access.pointer, evolution);
      bool joined = false;
      if (merge) {
        for (const std::size_t i : open[base])
          joined = joined || join_in_block(groups[i], access, offset);
        for (const std::size_t i : from_before[base])
          joined = joined || join_from_before(groups[i], access, offset);
      }
      if (joined) continue;
      open[base].push_back(groups.size());
      groups.push_back(begin_group(access, base, offset));
    }
    for (auto& [base, indices] : from_before) open[base].append(indices.begin(), indices.end());
    at_end[block] = std::move(open);
  }
  return groups;
}

}  // namespace nearfar::pass
