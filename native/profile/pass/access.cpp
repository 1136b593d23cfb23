#include "access.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Operator.h>

#include "library_calls.hpp"
#include "persist_assembly.hpp"

using namespace llvm;

namespace nearfar::pass {

namespace {

// Local variables up to one page are in the stack frame, which is nearly always cached.
constexpr std::uint64_t small_local_bytes = 4096;

bool is_fixed_global(const Value* pointer, const DataLayout& layout) {
  APInt offset(64, 0);
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  if (isa<GlobalVariable>(base)) return true;
#if LLVM_VERSION_MAJOR >= 16
  const auto* call = dyn_cast<IntrinsicInst>(base);
  return call != nullptr && call->getIntrinsicID() == Intrinsic::threadlocal_address;
#else
  return false;
#endif
}

void add_plain(Instruction& instruction, Value* pointer, TypeSize size, Align alignment, bool loads,
               bool stores, const DataLayout& layout, Accesses& accesses) {
  if (size.isScalable() || pointer->getType()->getPointerAddressSpace() != 0) return;
  if (stays_near_core(pointer, layout)) return;
  accesses.plain.push_back(
      {&instruction, pointer, size.getFixedValue(), alignment.value(), loads, stores});
}

void add_masked(IntrinsicInst& call, unsigned pointer, Type* type, bool stores,
                const DataLayout& layout, Accesses& accesses) {
  // Tested as if all lanes were active: the mask is known only at run time, and the vectoriser
  // rarely makes accesses without an active lane.
  add_plain(call, call.getArgOperand(pointer), layout.getTypeStoreSize(type), Align(1), !stores,
            stores, layout, accesses);
}

void add_intrinsic(IntrinsicInst& call, const DataLayout& layout, Accesses& accesses) {
  switch (call.getIntrinsicID()) {
    case Intrinsic::masked_load:
      return add_masked(call, 0, call.getType(), false, layout, accesses);
    case Intrinsic::masked_expandload:
      return add_masked(call, 0, call.getType(), false, layout, accesses);
    case Intrinsic::masked_store:
    case Intrinsic::masked_compressstore:
      return add_masked(call, 1, call.getArgOperand(0)->getType(), true, layout, accesses);
    case Intrinsic::masked_gather:
      if (isa<FixedVectorType>(call.getType()))
        accesses.lanes.push_back({&call, call.getArgOperand(0), call.getArgOperand(2), false});
      return;
    case Intrinsic::masked_scatter:
      if (isa<FixedVectorType>(call.getArgOperand(0)->getType()))
        accesses.lanes.push_back({&call, call.getArgOperand(1), call.getArgOperand(3), true});
      return;
    case Intrinsic::prefetch:
      return;
    case Intrinsic::x86_clwb:
    case Intrinsic::x86_clflushopt:
    case Intrinsic::x86_sse2_clflush:
      accesses.flushes.push_back(
          {&call, call.getArgOperand(0), call.getIntrinsicID() == Intrinsic::x86_clwb});
      return;
    case Intrinsic::x86_sse_sfence:
    case Intrinsic::x86_sse2_mfence:
      accesses.fences.push_back(&call);
      return;
    case Intrinsic::x86_sse2_lfence:
    case Intrinsic::x86_sse2_pause:
      return;
    case Intrinsic::x86_sse2_maskmov_dqu:
      accesses.stream_stores.push_back({&call, call.getArgOperand(2), 16});
      return;
    case Intrinsic::x86_movdir64b:
      accesses.stream_stores.push_back({&call, call.getArgOperand(0), 64});
      return;
    default:
      break;
  }
  if (auto* copy = dyn_cast<MemTransferInst>(&call)) {
    if (!stays_near_core(copy->getRawDest(), layout))
      accesses.ranges.push_back({copy, copy->getRawDest(), copy->getLength(), true});
    if (!stays_near_core(copy->getRawSource(), layout))
      accesses.ranges.push_back({copy, copy->getRawSource(), copy->getLength(), false});
    return;
  }
  if (auto* set = dyn_cast<MemSetInst>(&call)) {
    if (!stays_near_core(set->getRawDest(), layout))
      accesses.ranges.push_back({set, set->getRawDest(), set->getLength(), true});
    return;
  }
  // Processor-specific intrinsics that touch memory (gathers, streaming stores) are not known
  // individually, so they are reported instead of counted.
  const bool target_specific = call.getCalledFunction()->getName().find("llvm.x86.") == 0;
  if (target_specific && call.mayReadOrWriteMemory() && !call.doesNotAccessMemory())
    for (Value* argument : call.args())
      if (argument->getType()->isPtrOrPtrVectorTy()) accesses.unknown_intrinsic = true;
}

// Instructions with a lock prefix, and fences, wait for all earlier stores.
void add_waiting(Instruction& instruction, Accesses& accesses) {
  const auto* store = dyn_cast<StoreInst>(&instruction);
  const auto* fence = dyn_cast<FenceInst>(&instruction);
  // Weaker stores and fences do not wait on x86-64.
  constexpr auto strongest = AtomicOrdering::SequentiallyConsistent;
  if (isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction) ||
      (store != nullptr && store->getOrdering() == strongest) ||
      (fence != nullptr && fence->getOrdering() == strongest &&
       fence->getSyncScopeID() == SyncScope::System))
    accesses.locked.push_back(&instruction);
}

// Whether an assembly statement may touch memory: by a memory operand, a written address, or an
// instruction with implicit addresses. rdtsc, cpuid and pause do not.
bool may_access(const InlineAsm& assembly) {
  for (const InlineAsm::ConstraintInfo& constraint : assembly.ParseConstraints())
    if (constraint.isIndirect) return true;
  const StringRef text = assembly.getAsmString();
  if (text.find_first_of("([") != StringRef::npos) return true;
  for (const char* implicit :
       {"rep", "movs", "stos", "lods", "cmps", "scas", "push", "pop", "call"})
    if (text.contains(implicit)) return true;
  return false;
}

}  // namespace

bool stays_near_core(Value* pointer, const DataLayout& layout) {
  if (is_fixed_global(pointer, layout)) return true;
  const Value* object = getUnderlyingObject(pointer);
  if (const auto* local = dyn_cast<AllocaInst>(object)) {
    const auto size = local->getAllocationSizeInBits(layout);
    return local->isStaticAlloca() && size && !size->isScalable() &&
           size->getFixedValue() / 8 <= small_local_bytes;
  }
  const auto* argument = dyn_cast<Argument>(object);
  return argument != nullptr && argument->hasByValAttr();
}

void find_access(Instruction& instruction, const DataLayout& layout, Accesses& accesses) {
  if (instruction.hasMetadata(LLVMContext::MD_nosanitize)) return;
  if (auto* load = dyn_cast<LoadInst>(&instruction))
    return add_plain(instruction, load->getPointerOperand(),
                     layout.getTypeStoreSize(load->getType()), load->getAlign(), true, false,
                     layout, accesses);
  add_waiting(instruction, accesses);
  if (auto* store = dyn_cast<StoreInst>(&instruction)) {
    if (store->hasMetadata(LLVMContext::MD_nontemporal)) {
      const TypeSize size = layout.getTypeStoreSize(store->getValueOperand()->getType());
      if (!size.isScalable() && store->getPointerAddressSpace() == 0)
        accesses.stream_stores.push_back({store, store->getPointerOperand(), size.getFixedValue()});
      return;
    }
    return add_plain(instruction, store->getPointerOperand(),
                     layout.getTypeStoreSize(store->getValueOperand()->getType()),
                     store->getAlign(), false, true, layout, accesses);
  }
  if (auto* update = dyn_cast<AtomicRMWInst>(&instruction))
    return add_plain(instruction, update->getPointerOperand(),
                     layout.getTypeStoreSize(update->getType()), update->getAlign(), true, true,
                     layout, accesses);
  if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return add_plain(instruction, exchange->getPointerOperand(),
                     layout.getTypeStoreSize(exchange->getNewValOperand()->getType()),
                     exchange->getAlign(), true, true, layout, accesses);
  if (auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction))
    return add_intrinsic(*intrinsic, layout, accesses);
  if (auto* call = dyn_cast<CallBase>(&instruction)) {
    if (call->isInlineAsm()) {
      const auto* assembly = cast<InlineAsm>(call->getCalledOperand());
      // An empty statement with a memory clobber is a compiler barrier, not an access.
      const bool known = assembly->getAsmString().empty() || add_persist_assembly(*call, accesses);
      if (!known && may_access(*assembly)) accesses.inline_assembly = true;
      return;
    }
    add_library_call(*call, layout, accesses);
  }
}

}  // namespace nearfar::pass
