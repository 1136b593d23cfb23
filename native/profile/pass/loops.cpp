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

// The test before a loop costs about as much as two tests inside it per stream.
constexpr std::uint64_t fewest_iterations = 6;
constexpr std::size_t most_streams = 8;  // of one loop; more would make the test before it long
// Beyond this a stream has few accesses in a page, and looking for the next sampled one costs as
// much as testing each.
constexpr std::int64_t greatest_step_bytes = 1024;

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
    return constant->getAPInt().uge(fewest_iterations);
  return true;
}

bool LoopPlan::runs_every_iteration(const BasicBlock* block, const Loop& loop) const {
  SmallVector<BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  return dominators_.dominates(block, loop.getLoopLatch()) &&
         llvm::all_of(exiting,
                      [&](BasicBlock* exit) { return dominators_.dominates(block, exit); });
}

// A vectorised, unrolled loop touches several neighbouring groups in each iteration.
bool LoopPlan::extend_stream(Hoisted& hoisted, const Stream& stream) {
  for (Stream& known : hoisted.streams) {
    if (known.step != stream.step || known.operation != stream.operation) continue;
    const auto* distance =
        dyn_cast<SCEVConstant>(evolution_.getMinusSCEV(stream.start, known.start));
    if (distance == nullptr) continue;
    const std::int64_t apart = distance->getAPInt().getSExtValue();
    const auto size = static_cast<std::int64_t>(known.bytes);
    if (apart == size) {
      known.bytes += stream.bytes;
    } else if (apart == -static_cast<std::int64_t>(stream.bytes)) {
      known.bytes += stream.bytes;
      known.start = stream.start;
    } else {
      continue;
    }
    ++known.merged;
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
  if (step_bytes == 0 || std::abs(step_bytes) > greatest_step_bytes) return false;
  const SCEV* start =
      evolution_.getPtrToIntExpr(address->getStart(), Type::getInt64Ty(function_.getContext()));
  if (isa<SCEVCouldNotCompute>(start)) return false;
  start = evolution_.getAddExpr(
      start, evolution_.getConstant(start->getType(),
                                    static_cast<std::uint64_t>(group.low - group.offset), true));
  const Stream stream{index, start, step_bytes, group.bytes(), 1, group.stores, group.operation};
  if (extend_stream(hoisted, stream)) return true;
  if (hoisted.streams.size() == most_streams) return false;
  hoisted.streams.push_back(stream);
  return true;
}

std::vector<bool> LoopPlan::choose(const std::vector<Group>& groups) {
  std::vector<bool> taken(groups.size(), false);
  // A longjmp back into the function may bring a stale count: such functions are tested inline.
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
  // Only now preheaders, which change the code that the above reads.
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

void LoopPlan::test_before_loop(Hoisted& hoisted, const Filter& filter) {
  Instruction* at = hoisted.loop->getLoopPreheader()->getTerminator();
  IRBuilder<> builder(at);
  Type* i64 = builder.getInt64Ty();
  SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "nf");
  Value* count = expander.expandCodeFor(hoisted.back_edges, i64, at);
  for (Stream& stream : hoisted.streams) {
    stream.first_address = expander.expandCodeFor(stream.start, i64, at);
    Value* way =
        builder.CreateMul(count, builder.getInt64(static_cast<std::uint64_t>(stream.step)));
    Value* end = builder.CreateAdd(stream.first_address, way);
    Value* low = stream.step > 0 ? stream.first_address : end;
    Value* high = stream.step > 0 ? end : stream.first_address;
    high = builder.CreateAdd(high, builder.getInt64(stream.bytes - 1));
    Value* sampled = filter.range(builder, low, high);
    hoisted.sampled =
        hoisted.sampled == nullptr ? sampled : builder.CreateOr(hoisted.sampled, sampled);
  }
}

void LoopPlan::count_down(Hoisted& hoisted, const std::vector<Group>& groups,
                          const std::vector<nf_class>& classes, Inserter& inserter, Value* frame) {
  LLVMContext& context = function_.getContext();
  BasicBlock* header = hoisted.loop->getHeader();
  BasicBlock* latch = hoisted.loop->getLoopLatch();
  BasicBlock* before = hoisted.loop->getLoopPreheader();
  StructType* type = frame_type(context, hoisted.streams.size());
  Type* i64 = Type::getInt64Ty(context);

  // Before the loop: fill the frame and ask for the first event, if there may be one.
  Instruction* end = before->getTerminator();
  Instruction* fill = SplitBlockAndInsertIfThen(hoisted.sampled, end, false,
                                                MDBuilder(context).createBranchWeights(1, 4));
  IRBuilder<> builder(fill);
  builder.SetCurrentDebugLocation(
      groups[hoisted.streams[0].group].leader.instruction->getDebugLoc());
  builder.CreateStore(builder.getInt64(UINT64_MAX), builder.CreateStructGEP(type, frame, 0));
  builder.CreateStore(builder.getInt32(static_cast<std::uint32_t>(hoisted.streams.size())),
                      builder.CreateStructGEP(type, frame, 1));
  builder.CreateStore(builder.getInt32(inserter.rate_log2()),
                      builder.CreateStructGEP(type, frame, 2));
  StructType* element = stream_type(context);
  for (unsigned i = 0; i < hoisted.streams.size(); ++i) {
    const Stream& stream = hoisted.streams[i];
    const std::uint64_t per_line =
        stream.merged *
        std::max<std::uint64_t>(1, 64 / static_cast<std::uint64_t>(std::abs(stream.step)));
    const std::uint32_t site =
        inserter.sites().add(*groups[stream.group].leader.instruction, stream.bytes,
                             stream.operation, classes[stream.group], per_line);
    Value* place = builder.CreateInBoundsGEP(
        type, frame, {builder.getInt64(0), builder.getInt32(3), builder.getInt64(i)});
    auto set = [&](unsigned field, Value* value) {
      builder.CreateStore(value, builder.CreateStructGEP(element, place, field));
    };
    set(0, stream.first_address);
    set(1, builder.getInt64(static_cast<std::uint64_t>(stream.step)));
    set(2, inserter.sites().id(builder, site));
    set(3, builder.getInt16(static_cast<std::uint16_t>(stream.bytes)));
    set(4, builder.getInt16(stream.stores ? 1 : 0));
  }
  Value* first_event = call_loop(builder, inserter.entries(), frame);
  builder.SetInsertPoint(end->getParent(), end->getParent()->begin());
  PHINode* first = builder.CreatePHI(i64, 2, "nf.first");
  first->addIncoming(builder.getInt64(UINT64_MAX), before);
  first->addIncoming(first_event, fill->getParent());

  // In the loop: count down; at 0 report and ask for the next event.
  builder.SetInsertPoint(header, header->begin());
  PHINode* remaining = builder.CreatePHI(i64, 2, "nf.remaining");
  remaining->addIncoming(first, end->getParent());
  remaining->addIncoming(PoisonValue::get(i64), latch);
  Instruction* body = &*header->getFirstInsertionPt();
  builder.SetInsertPoint(body);
  Value* due = builder.CreateICmpEQ(remaining, builder.getInt64(0), "nf.due");
  Value* one_less = builder.CreateSub(remaining, builder.getInt64(1));
  Instruction* report =
      SplitBlockAndInsertIfThen(due, body, false, inserter.filter().weights(context));
  builder.SetInsertPoint(report);
  Value* next_event =
      builder.CreateSub(call_loop(builder, inserter.entries(), frame), builder.getInt64(1));
  builder.SetInsertPoint(body->getParent(), body->getParent()->begin());
  PHINode* next = builder.CreatePHI(i64, 2, "nf.next");
  next->addIncoming(one_less, header);
  next->addIncoming(next_event, report->getParent());
  for (unsigned i = 0; i < remaining->getNumIncomingValues(); ++i)
    if (isa<PoisonValue>(remaining->getIncomingValue(i))) remaining->setIncomingValue(i, next);
}

void LoopPlan::apply(const std::vector<Group>& groups, const std::vector<nf_class>& classes,
                     Inserter& inserter) {
  std::size_t most = 0;
  for (Hoisted& hoisted : hoisted_) {
    if (hoisted.streams.empty()) continue;
    most = std::max(most, hoisted.streams.size());
    test_before_loop(hoisted, inserter.filter());
  }
  if (most == 0) return;
  IRBuilder<> builder(&*function_.getEntryBlock().getFirstInsertionPt());
  AllocaInst* frame =
      builder.CreateAlloca(frame_type(function_.getContext(), most), nullptr, "nf.frame");
  // Loops' blocks are changed last: test_before_loop still asks for preheaders of later loops.
  for (Hoisted& hoisted : hoisted_)
    if (!hoisted.streams.empty()) count_down(hoisted, groups, classes, inserter, frame);
}

}  // namespace nearfar::pass
