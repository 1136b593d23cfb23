#include "insert.hpp"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

namespace nearfar::pass {

namespace {

// Bytes of a string that are tested for a sampled line: the length is unknown before the call, and
// few compared strings are longer. A longer string is reported only if one of these bytes' lines is
// sampled.
constexpr std::uint64_t string_window_bytes = 128;

// For calls on hot paths; compare `declare`.
FunctionCallee declare_warm(Module& module, const Twine& name, FunctionType* type) {
  FunctionCallee callee = module.getOrInsertFunction(name.str(), type);
  cast<Function>(callee.getCallee()->stripPointerCasts())->addFnAttr(Attribute::NoUnwind);
  return callee;
}

FunctionCallee declare(Module& module, const Twine& name, FunctionType* type) {
  FunctionCallee callee = module.getOrInsertFunction(name.str(), type);
  auto* function = cast<Function>(callee.getCallee()->stripPointerCasts());
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr(Attribute::Cold);
  return callee;
}

// preserve_most functions are called through a stub in the program: the loader's lazy binding would
// overwrite r10, and a call through the offset table would keep the address in a register around
// the loop. The stub's name is not a C identifier, because configure scripts with libtool declare
// an object's C symbols as variables.
FunctionCallee declare_preserving(Module& module, const std::string& name, FunctionType* type) {
  const std::string stub = name + ".stub";
  FunctionCallee callee = declare(module, stub, type);
  auto* function = cast<Function>(callee.getCallee()->stripPointerCasts());
  function->setCallingConv(CallingConv::PreserveMost);
  function->setVisibility(GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  module.appendModuleInlineAsm(".pushsection .text." + stub + ",\"axG\",@progbits," + stub +
                               ",comdat\n.weak " + stub + "\n.hidden " + stub + "\n.type " + stub +
                               ",@function\n" + stub + ":\njmp *" + name +
                               "@GOTPCREL(%rip)\n.size " + stub + ",.-" + stub + "\n.popsection");
  return callee;
}

void call_preserving(IRBuilder<>& builder, FunctionCallee callee, ArrayRef<Value*> arguments) {
  builder.CreateCall(callee, arguments)->setCallingConv(CallingConv::PreserveMost);
}

// Returns the pointer `low` bytes from the group's base.
Value* at_offset(IRBuilder<>& builder, const Group& group, std::int64_t low) {
  if (low == group.offset) return group.leader.pointer;
  return builder.CreateConstGEP1_64(builder.getInt8Ty(), group.leader.pointer,
                                    static_cast<std::uint64_t>(low - group.offset));
}

Value* as_i64(IRBuilder<>& builder, Value* value) {
  return builder.CreateZExtOrTrunc(value, builder.getInt64Ty());
}

}  // namespace

Entries::Entries(Module& module) {
  LLVMContext& context = module.getContext();
  Type* nothing = Type::getVoidTy(context);
  Type* pointer = PointerType::get(context, 0);
  Type* i32 = Type::getInt32Ty(context);
  Type* i64 = Type::getInt64Ty(context);
  auto entry = [&](Type* result, ArrayRef<Type*> arguments) {
    return FunctionType::get(result, arguments, false);
  };
  access = declare_preserving(module, "__nf_access", entry(nothing, {pointer, i32, i32}));
  span = declare_preserving(module, "__nf_span", entry(nothing, {pointer, i32, i32}));
  row = declare_preserving(module, "__nf_row", entry(nothing, {pointer, i64, i32, i32}));
  loop = declare_preserving(module, "__nf_loop", entry(i64, {pointer}));
  range = declare(module, "__nf_range", entry(nothing, {pointer, i64, i32, i32}));
  flush = declare_warm(module, "__nf_flush", entry(nothing, {pointer, i32}));
  stream_store = declare_warm(module, "__nf_stream_store", entry(nothing, {pointer, i32}));
  fence = declare_warm(module, "__nf_fence", entry(nothing, {}));
  string = declare(module, "__nf_string", entry(nothing, {pointer, pointer, i64, i32, i32}));
}

Inserter::Inserter(Module& module, const Options& options, Sites& sites, const Fields& fields)
    : options_(options),
      filter_(options.rate_log2),
      entries_(module),
      sites_(sites),
      fields_(fields) {}

Instruction* Inserter::cold(Value* sampled, Instruction* before) {
  if (options_.every_access() && isa<ConstantInt>(sampled)) return before;
  return SplitBlockAndInsertIfThen(sampled, before, false, filter_.weights(before->getContext()));
}

Value* Inserter::is_sampled(IRBuilder<>& builder, const Group& group, Anchor* anchor,
                            bool is_first) {
  if (options_.every_access()) return builder.getTrue();
  auto address = [&](std::int64_t low) {
    return builder.CreatePtrToInt(at_offset(builder, group, low), builder.getInt64Ty());
  };
  if (anchor == nullptr)
    return group.may_straddle() ? filter_.span(builder, address(group.low), group.bytes())
                                : filter_.line(builder, address(group.low));
  if (is_first) anchor->distance = filter_.distance(builder, address(anchor->low), anchor->bytes());
  return filter_.within(builder, anchor->distance);
}

void Inserter::group(const Group& group, nf_class access_class, Anchor* anchor, bool is_first) {
  const Access& leader = group.leader;
  const std::uint32_t site = sites_.add(*leader.instruction, group.bytes(), group.operation,
                                        access_class, fields_.of_group(group));
  IRBuilder<> builder(leader.instruction);
  Value* sampled = is_sampled(builder, group, anchor, is_first);
  builder.SetInsertPoint(cold(sampled, leader.instruction));
  Value* pointer = at_offset(builder, group, group.low);
  // A test of a single line proves that the line is sampled; a wider test does not.
  const bool exact = options_.every_access() || anchor == nullptr;
  if (exact && !group.may_straddle()) {
    call_preserving(builder, entries_.access,
                    {pointer, sites_.id(builder, site), builder.getInt32(group.stores)});
    return;
  }
  const std::uint64_t shape =
      options_.rate_log2 << 16 | group.bytes() << 1 | (group.stores ? 1 : 0);
  call_preserving(builder, entries_.span,
                  {pointer, sites_.id(builder, site), builder.getInt32(shape)});
}

void Inserter::lanes(const LaneAccess& access, nf_class access_class) {
  IRBuilder<> builder(access.instruction);
  auto* type = cast<FixedVectorType>(access.pointers->getType());
  const unsigned count = type->getNumElements();
  Type* element = access.stores ? access.instruction->getArgOperand(0)->getType()
                                : access.instruction->getType();
  const std::uint64_t bytes = element->getScalarSizeInBits() / 8;
  const std::uint32_t site =
      sites_.add(*access.instruction, bytes, access.stores ? NF_STORE : NF_LOAD, access_class,
                 fields_.of_access(*access.instruction, access.pointers, bytes));
  Value* addresses =
      builder.CreatePtrToInt(access.pointers, FixedVectorType::get(builder.getInt64Ty(), count));
  Value* sampled = builder.CreateAnd(filter_.line(builder, addresses), access.mask);
  Value* any = builder.CreateOrReduce(sampled);
  Instruction* at = SplitBlockAndInsertIfThen(any, access.instruction, false,
                                              filter_.weights(builder.getContext()));
  for (unsigned lane = 0; lane < count; ++lane) {
    builder.SetInsertPoint(at);
    Value* is_sampled = builder.CreateExtractElement(sampled, lane);
    Value* pointer = builder.CreateExtractElement(access.pointers, lane);
    builder.SetInsertPoint(SplitBlockAndInsertIfThen(is_sampled, at, false));
    call_preserving(builder, entries_.access,
                    {pointer, sites_.id(builder, site), builder.getInt32(access.stores)});
  }
}

void Inserter::range(const RangeAccess& access, nf_class access_class) {
  using Length = RangeAccess::Length;
  Instruction* before =
      access.length == Length::given ? access.instruction : access.instruction->getNextNode();
  IRBuilder<> builder(before);
  builder.SetCurrentDebugLocation(access.instruction->getDebugLoc());
  Value* bytes = as_i64(builder, access.bytes);
  if (access.length == Length::returned) bytes = builder.CreateAdd(bytes, builder.getInt64(1));
  if (access.length == Length::to_result) {
    Value* read =
        builder.CreateSub(builder.CreatePtrToInt(access.instruction, builder.getInt64Ty()),
                          builder.CreatePtrToInt(access.pointer, builder.getInt64Ty()));
    bytes = builder.CreateSelect(builder.CreateIsNull(access.instruction), bytes,
                                 builder.CreateAdd(read, builder.getInt64(1)));
  }
  const auto* constant = dyn_cast<ConstantInt>(bytes);
  const std::uint64_t known = constant != nullptr ? constant->getZExtValue() : 0;
  if (constant != nullptr && known == 0) return;
  const std::uint32_t site =
      sites_.add(*access.instruction, known, access.stores ? NF_STORE : NF_LOAD, access_class,
                 fields_.of_access(*access.instruction, access.pointer, known));
  Value* first = builder.CreatePtrToInt(access.pointer, builder.getInt64Ty());
  Value* last = builder.CreateSub(builder.CreateAdd(first, bytes), builder.getInt64(1));
  Value* sampled = options_.every_access()    ? builder.getTrue()
                   : known > 0 && known <= 64 ? filter_.span(builder, first, known)
                                              : filter_.range(builder, first, last);
  builder.SetInsertPoint(cold(sampled, before));
  if (known > 0 && known <= 64) {
    const std::uint64_t shape = options_.rate_log2 << 16 | known << 1 | (access.stores ? 1 : 0);
    call_preserving(builder, entries_.span,
                    {access.pointer, sites_.id(builder, site), builder.getInt32(shape)});
    return;
  }
  builder.CreateCall(entries_.range, {access.pointer, bytes, sites_.id(builder, site),
                                      builder.getInt32(access.stores)});
}

void Inserter::flush(const Flush& flush) {
  IRBuilder<> builder(flush.instruction);
  Value* address = flush.address;
  if (!address->getType()->isPointerTy())
    address = builder.CreateIntToPtr(address, builder.getPtrTy());
  builder.CreateCall(entries_.flush, {address, builder.getInt32(flush.stays)});
}

void Inserter::stream_store(const StreamStore& store) {
  IRBuilder<> builder(store.instruction);
  builder.CreateCall(entries_.stream_store,
                     {store.pointer, builder.getInt32(static_cast<std::uint32_t>(store.bytes))});
}

void Inserter::fence(Instruction* before) {
  IRBuilder<> builder(before);
  builder.CreateCall(entries_.fence, {});
}

void Inserter::string(const StringAccess& access, nf_class access_class) {
  IRBuilder<> builder(access.call);
  const std::uint32_t site = sites_.add(*access.call, 1, NF_LOAD, access_class,
                                        fields_.of_access(*access.call, access.first, 1));
  Value* window = builder.getInt64(string_window_bytes);
  Value* limit =
      access.limit != nullptr ? as_i64(builder, access.limit) : builder.getInt64(UINT64_MAX);
  // memcmp usually reads its whole length, so it has no window.
  Value* reach = access.limit != nullptr && access.stop == nullptr ? limit : window;
  auto near = [&](Value* pointer) -> Value* {
    Value* first = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
    Value* last = builder.CreateSub(builder.CreateAdd(first, reach), builder.getInt64(1));
    return filter_.range(builder, first, last);
  };
  Value* sampled = builder.getTrue();
  if (!options_.every_access()) {
    sampled = near(access.first);
    if (access.second != nullptr) sampled = builder.CreateOr(sampled, near(access.second));
  }
  builder.SetInsertPoint(cold(sampled, access.call));
  Value* stop =
      access.stop != nullptr
          ? builder.CreateAnd(builder.CreateZExtOrTrunc(access.stop, builder.getInt32Ty()),
                              builder.getInt32(0xFF))
          : static_cast<Value*>(builder.getInt32(-1));
  Value* second = access.second != nullptr
                      ? access.second
                      : static_cast<Value*>(ConstantPointerNull::get(builder.getPtrTy()));
  builder.CreateCall(entries_.string,
                     {access.first, second, limit, stop, sites_.id(builder, site)});
}

}  // namespace nearfar::pass
