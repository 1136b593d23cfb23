#include "loops.hpp"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

using namespace llvm;

namespace nearfar::pass {

namespace {

// The test before a loop costs about as much per stream as two tests inside it.
constexpr std::uint64_t min_iterations = 6;
constexpr std::size_t max_streams = 8;  // per loop; more would make the test before it slow
// With larger steps a stream has few accesses per page, and finding the next sampled one costs as
// much as testing each.
constexpr std::int64_t max_step_bytes = 1024;

StructType* stream_type(LLVMContext& context) {
  Type* i64 = Type::getInt64Ty(context);
  Type* i16 = Type::getInt16Ty(context);
  return StructType::get(context, {i64, i64, Type::getInt32Ty(context), i16, i16, i64, i64});
}

StructType* frame_type(LLVMContext& context, std::size_t streams) {
  Type* i32 = Type::getInt32Ty(context);
  return StructType::get(context, {Type::getInt64Ty(context), i32, i32,
                                   ArrayType::get(stream_type(context), streams)});
}

static_assert(sizeof(nf_stream) == 40 && offsetof(nf_stream, is_store) == 22 &&
              offsetof(nf_loop, streams) == 16);

Value* call_loop(IRBuilder<>& builder, const Entries& entries, Value* frame) {
  CallInst* call = builder.CreateCall(entries.loop, {frame});
  call->setCallingConv(CallingConv::PreserveMost);
  return call;
}

}  // namespace

bool LoopPlan::is_suitable(Loop& loop) const {
  if (!loop.getSubLoops().empty() || loop.getLoopLatch() == nullptr) return false;
  if (loop.getHeader()->isEHPad()) return false;
  const SCEV* back_edges = evolution_.getBackedgeTakenCount(&loop);
  if (isa<SCEVCouldNotCompute>(back_edges)) return false;
  if (const auto* constant = dyn_cast<SCEVConstant>(back_edges))
    return constant->getAPInt().uge(min_iterations);
  return true;
}

bool LoopPlan::runs_every_iteration(const BasicBlock* block, const Loop& loop) const {
  SmallVector<BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  return dominators_.dominates(block, loop.getLoopLatch()) &&
         llvm::all_of(exiting,
                      [&](BasicBlock* exit) { return dominators_.dominates(block, exit); });
}

// Merges adjacent streams: a vectorised, unrolled loop touches several adjacent groups per
// iteration.
bool LoopPlan::extend_stream(Hoisted& hoisted, const Stream& stream) {
  for (Stream& known : hoisted.streams) {
    if (known.step != stream.step || known.operation != stream.operation) continue;
    const auto* distance =
        dyn_cast<SCEVConstant>(evolution_.getMinusSCEV(stream.start, known.start));
    if (distance == nullptr) continue;
    const std::int64_t gap = distance->getAPInt().getSExtValue();
    const auto size = static_cast<std::int64_t>(known.bytes);
    if (gap == size) {
      known.bytes += stream.bytes;
    } else if (gap == -static_cast<std::int64_t>(stream.bytes)) {
      known.bytes += stream.bytes;
      known.start = stream.start;
    } else {
      continue;
    }
    known.merged.push_back(stream.group);
    return true;
  }
  return false;
}

bool LoopPlan::add_stream(Hoisted& hoisted, const Group& group, std::size_t index) {
  const Access& leader = group.leader;
  const auto* load = dyn_cast<LoadInst>(leader.instruction);
  const auto* store = dyn_cast<StoreInst>(leader.instruction);
  if ((load == nullptr || load->isAtomic()) && (store == nullptr || store->isAtomic()))
    return false;
  Loop& loop = *hoisted.loop;
  if (!runs_every_iteration(leader.instruction->getParent(), loop)) return false;
  const auto* address = dyn_cast<SCEVAddRecExpr>(evolution_.getSCEV(leader.pointer));
  if (address == nullptr || !address->isAffine() || address->getLoop() != &loop) return false;
  const auto* step = dyn_cast<SCEVConstant>(address->getStepRecurrence(evolution_));
  if (step == nullptr || step->getAPInt().getSignificantBits() > 32) return false;
  const std::int64_t step_bytes = step->getAPInt().getSExtValue();
  if (step_bytes == 0 || std::abs(step_bytes) > max_step_bytes) return false;
  const SCEV* start =
      evolution_.getPtrToIntExpr(address->getStart(), Type::getInt64Ty(function_.getContext()));
  if (isa<SCEVCouldNotCompute>(start)) return false;
  start = evolution_.getAddExpr(
      start, evolution_.getConstant(start->getType(),
                                    static_cast<std::uint64_t>(group.low - group.offset), true));
  const Stream stream{index,   start,        step_bytes,     group.bytes(),
                      {index}, group.stores, group.operation};
  if (extend_stream(hoisted, stream)) return true;
  if (hoisted.streams.size() == max_streams) return false;
  hoisted.streams.push_back(stream);
  return true;
}

std::vector<bool> LoopPlan::choose(const std::vector<Group>& groups) {
  std::vector<bool> taken(groups.size(), false);
  // A longjmp back into the function may restore an outdated count: such functions are tested
  // inline.
  if (function_.callsFunctionThatReturnsTwice()) return taken;
  DenseMap<Loop*, std::size_t> known;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Loop* loop = loops_.getLoopFor(groups[i].leader.instruction->getParent());
    if (loop == nullptr) continue;
    auto [entry, is_new] = known.try_emplace(loop, hoisted_.size());
    if (is_new) {
      if (!is_suitable(*loop)) {
        entry->second = SIZE_MAX;
        continue;
      }
      const SCEV* count = evolution_.getTruncateOrZeroExtend(
          evolution_.getBackedgeTakenCount(loop), Type::getInt64Ty(function_.getContext()));
      hoisted_.push_back({loop, count, {}});
    }
    if (entry->second != SIZE_MAX) taken[i] = add_stream(hoisted_[entry->second], groups[i], i);
  }
  // Inserts preheaders last, because they change the code analysed above.
  for (Hoisted& hoisted : hoisted_) {
    if (hoisted.streams.empty()) continue;
    Loop* loop = hoisted.loop;
    BasicBlock* preheader = loop->getLoopPreheader();
    if (preheader == nullptr)
      preheader = InsertPreheaderForLoop(loop, &dominators_, &loops_, nullptr, false);
    bool usable = preheader != nullptr;
    if (usable) {
      const SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "nf");
      const Instruction* at = preheader->getTerminator();
      usable = expander.isSafeToExpandAt(hoisted.back_edges, at);
      for (const Stream& stream : hoisted.streams)
        usable = usable && expander.isSafeToExpandAt(stream.start, at);
    }
    if (usable) continue;
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (taken[i] && loops_.getLoopFor(groups[i].leader.instruction->getParent()) == loop)
        taken[i] = false;
    hoisted.streams.clear();
  }
  return taken;
}

void LoopPlan::compute_extents(Hoisted& hoisted, const Filter& filter) {
  Instruction* at = hoisted.loop->getLoopPreheader()->getTerminator();
  IRBuilder<> builder(at);
  Type* i64 = builder.getInt64Ty();
  SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "nf");
  Value* count = expander.expandCodeFor(hoisted.back_edges, i64, at);
  std::uint64_t longest_short = UINT64_MAX;
  for (Stream& stream : hoisted.streams) {
    stream.first_address = expander.expandCodeFor(stream.start, i64, at);
    Value* extent =
        builder.CreateMul(count, builder.getInt64(static_cast<std::uint64_t>(stream.step)));
    Value* end = builder.CreateAdd(stream.first_address, extent);
    stream.low = stream.step > 0 ? stream.first_address : end;
    stream.high = builder.CreateAdd(stream.step > 0 ? end : stream.first_address,
                                    builder.getInt64(stream.bytes - 1));
    const std::uint64_t available_bytes =
        filter.short_bytes() - std::min(filter.short_bytes(), stream.bytes);
    longest_short = std::min(longest_short,
                             available_bytes / static_cast<std::uint64_t>(std::abs(stream.step)));
  }
  hoisted.is_long = builder.CreateICmpUGT(count, builder.getInt64(longest_short), "nf.long");
}

// For a short loop: reports the sampled line of each stream, if there is one, before the loop.
void LoopPlan::report_rows(const Hoisted& hoisted, Instruction* at, Inserter& inserter) {
  for (const Stream& stream : hoisted.streams) {
    IRBuilder<> builder(at);
    Value* sampled = inserter.filter().range(builder, stream.low, stream.high);
    // A row often contains a sampled line, so its code is not marked as cold.
    Instruction* report = SplitBlockAndInsertIfThen(
        sampled, at, false, MDBuilder(at->getContext()).createBranchWeights(1, 4));
    builder.SetInsertPoint(report);
    Value* bytes =
        builder.CreateAdd(builder.CreateSub(stream.high, stream.low), builder.getInt64(1));
    CallInst* call = builder.CreateCall(
        inserter.entries().row,
        {builder.CreateIntToPtr(stream.low, PointerType::get(at->getContext(), 0)), bytes,
         inserter.sites().id(builder, stream.site),
         builder.getInt32(inserter.rate_log2() << 16 | (stream.stores ? 1 : 0))});
    call->setCallingConv(CallingConv::PreserveMost);
  }
}

// For a long loop: returns the number of iterations until the first event.
Value* LoopPlan::fill_frame(const Hoisted& hoisted, Instruction* at, Inserter& inserter,
                            Value* frame) {
  LLVMContext& context = function_.getContext();
  StructType* type = frame_type(context, hoisted.streams.size());
  StructType* element = stream_type(context);
  IRBuilder<> builder(at);
  builder.CreateStore(builder.getInt64(UINT64_MAX), builder.CreateStructGEP(type, frame, 0));
  builder.CreateStore(builder.getInt32(static_cast<std::uint32_t>(hoisted.streams.size())),
                      builder.CreateStructGEP(type, frame, 1));
  builder.CreateStore(builder.getInt32(inserter.rate_log2()),
                      builder.CreateStructGEP(type, frame, 2));
  for (unsigned i = 0; i < hoisted.streams.size(); ++i) {
    const Stream& stream = hoisted.streams[i];
    Value* place = builder.CreateInBoundsGEP(
        type, frame, {builder.getInt64(0), builder.getInt32(3), builder.getInt64(i)});
    auto set = [&](unsigned field, Value* value) {
      builder.CreateStore(value, builder.CreateStructGEP(element, place, field));
    };
    set(0, stream.first_address);
    set(1, builder.getInt64(static_cast<std::uint64_t>(stream.step)));
    set(2, inserter.sites().id(builder, stream.site));
    set(3, builder.getInt16(static_cast<std::uint16_t>(stream.bytes)));
    set(4, builder.getInt16(stream.stores ? 1 : 0));
  }
  return call_loop(builder, inserter.entries(), frame);
}

// Counts down from `first` in the loop; at 0, reports the event and gets the next count.
void LoopPlan::count_down(const Hoisted& hoisted, PHINode* first, Inserter& inserter,
                          Value* frame) {
  BasicBlock* header = hoisted.loop->getHeader();
  BasicBlock* latch = hoisted.loop->getLoopLatch();
  Type* i64 = first->getType();
  IRBuilder<> builder(header, header->begin());
  PHINode* remaining = builder.CreatePHI(i64, 2, "nf.remaining");
  remaining->addIncoming(first, first->getParent());
  remaining->addIncoming(PoisonValue::get(i64), latch);  // replaced by `next` below
  Instruction* body = &*header->getFirstInsertionPt();
  builder.SetInsertPoint(body);
  Value* event = builder.CreateICmpEQ(remaining, builder.getInt64(0), "nf.event");
  Value* decremented = builder.CreateSub(remaining, builder.getInt64(1));
  Instruction* report =
      SplitBlockAndInsertIfThen(event, body, false, inserter.filter().weights(body->getContext()));
  builder.SetInsertPoint(report);
  Value* next_event =
      builder.CreateSub(call_loop(builder, inserter.entries(), frame), builder.getInt64(1));
  builder.SetInsertPoint(body->getParent(), body->getParent()->begin());
  PHINode* next = builder.CreatePHI(i64, 2, "nf.next");
  next->addIncoming(decremented, header);
  next->addIncoming(next_event, report->getParent());
  for (unsigned i = 0; i < remaining->getNumIncomingValues(); ++i)
    if (isa<PoisonValue>(remaining->getIncomingValue(i))) remaining->setIncomingValue(i, next);
}

void LoopPlan::instrument(Hoisted& hoisted, Inserter& inserter, Value* frame) {
  Instruction* end = hoisted.loop->getLoopPreheader()->getTerminator();
  const auto* known = dyn_cast<ConstantInt>(hoisted.is_long);
  if (known != nullptr && known->isZero()) return report_rows(hoisted, end, inserter);
  Instruction* if_long = nullptr;
  Instruction* if_short = nullptr;
  SplitBlockAndInsertIfThenElse(hoisted.is_long, end, &if_long, &if_short);
  Value* first_event = fill_frame(hoisted, if_long, inserter, frame);
  report_rows(hoisted, if_short, inserter);
  IRBuilder<> builder(end->getParent(), end->getParent()->begin());
  PHINode* first = builder.CreatePHI(builder.getInt64Ty(), 2, "nf.first");
  first->addIncoming(first_event, if_long->getParent());
  first->addIncoming(builder.getInt64(UINT64_MAX), if_short->getParent());
  count_down(hoisted, first, inserter, frame);
}

void LoopPlan::apply(const std::vector<Group>& groups, const std::vector<nf_class>& classes,
                     Inserter& inserter) {
  std::size_t max_count = 0;
  for (Hoisted& hoisted : hoisted_) {
    if (hoisted.streams.empty()) continue;
    max_count = std::max(max_count, hoisted.streams.size());
    compute_extents(hoisted, inserter.filter());
    for (Stream& stream : hoisted.streams) {
      const auto step = static_cast<std::uint64_t>(std::abs(stream.step));
      SmallVector<const Group*, 4> merged;
      for (const std::size_t group : stream.merged) merged.push_back(&groups[group]);
      stream.site = inserter.sites().add(*groups[stream.group].leader.instruction, stream.bytes,
                                         stream.operation, classes[stream.group],
                                         inserter.fields().of_groups(merged),
                                         merged.size() * std::max<std::uint64_t>(1, 64 / step));
    }
  }
  if (max_count == 0) return;
  IRBuilder<> builder(&*function_.getEntryBlock().getFirstInsertionPt());
  AllocaInst* frame =
      builder.CreateAlloca(frame_type(function_.getContext(), max_count), nullptr, "nf.frame");
  // Loops' blocks change last: compute_extents needs the preheaders of later loops.
  for (Hoisted& hoisted : hoisted_)
    if (!hoisted.streams.empty()) instrument(hoisted, inserter, frame);
}

}  // namespace nearfar::pass
