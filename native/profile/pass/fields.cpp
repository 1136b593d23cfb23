#include "fields.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

using namespace llvm;

namespace nearfar::pass {

namespace {

constexpr unsigned max_steps = 4;   // followed loads, calls and joins of paths to a typed pointer
constexpr unsigned max_chain = 64;  // followed address computations in a chain
constexpr unsigned max_joined = 8;  // examined paths at a join

// Returns the place that a TBAA tag describes: the type's node, and the offset in it.
std::pair<const MDNode*, std::uint64_t> struct_path(const Instruction& instruction) {
  const MDNode* tag = instruction.getMetadata(LLVMContext::MD_tbaa);
  if (tag == nullptr || tag->getNumOperands() < 3) return {nullptr, 0};
  const auto* base = dyn_cast_or_null<MDNode>(tag->getOperand(0));
  const auto* offset = mdconst::dyn_extract_or_null<ConstantInt>(tag->getOperand(2));
  if (base == nullptr || offset == nullptr || tag->getOperand(0) == tag->getOperand(1))
    return {nullptr, 0};
  return {base, offset->getZExtValue()};
}

StringRef name_of_node(const MDNode& type) {
  const auto* name =
      type.getNumOperands() > 0 ? dyn_cast_or_null<MDString>(type.getOperand(0)) : nullptr;
  return name != nullptr ? name->getString() : "";
}

// Returns an LLVM type's name without "struct." and without the number that distinguishes equal
// names.
StringRef source_name(const StructType& type) {
  if (!type.hasName()) return "";
  StringRef name = type.getName();
  for (const StringRef prefix : {"struct.", "class.", "union."})
    if (name.find(prefix) == 0) name = name.drop_front(prefix.size());
  const std::size_t dot = name.rfind('.');
  if (dot != StringRef::npos && dot + 1 < name.size() &&
      name.find_first_not_of("0123456789", dot + 1) == StringRef::npos)
    name = name.take_front(dot);
  return name;
}

std::uint64_t offset_of(const DIExpression& expression, bool& is_plain) {
  is_plain = expression.getNumElements() == 0;
  if (const auto fragment = expression.getFragmentInfo()) {
    is_plain = expression.getNumElements() == 3;  // the fragment alone
    return fragment->OffsetInBits / 8;
  }
  return 0;
}

std::int64_t modulo(std::int64_t value, std::uint64_t size) {
  const auto whole = static_cast<std::int64_t>(size);
  return (value % whole + whole) % whole;
}

void append(std::string& text, const Place& place, const Leaf& leaf, bool always) {
  std::string line = place.name + "\t" + std::to_string(place.size) + "\t" + leaf.path + "\t" +
                     std::to_string(leaf.offset) + "\t" + std::to_string(leaf.bytes) + "\t" +
                     (always ? "1" : "0") + "\n";
  if (text.find(line) == std::string::npos) text += line;
}

}  // namespace

Fields::Fields(Module& module) : layout_(module.getDataLayout()), layouts_(module) {}

void Fields::enter(const Function& function) {
  variables_.clear();
  auto add = [&](const Value* value, const DILocalVariable* variable,
                 const DIExpression* expression) {
    if (value == nullptr || variable == nullptr || expression == nullptr) return;
    bool is_plain = false;
    const std::uint64_t offset = offset_of(*expression, is_plain);
    if (is_plain) variables_.try_emplace(value, Variable{variable->getType(), offset});
  };
  for (const Instruction& instruction : instructions(function)) {
    if (const auto* debug = dyn_cast<DbgVariableIntrinsic>(&instruction)) {
      if (debug->getNumVariableLocationOps() == 1)
        add(debug->getVariableLocationOp(0), debug->getVariable(), debug->getExpression());
    }
#if LLVM_VERSION_MAJOR >= 19
    for (const DbgVariableRecord& record :
         filterDbgVars(const_cast<Instruction&>(instruction).getDbgRecordRange()))
      if (record.getNumVariableLocationOps() == 1)
        add(record.getVariableLocationOp(0), record.getVariable(), record.getExpression());
#endif
  }
}

std::string Fields::of_group(const Group& group) const { return of_groups({&group}); }

std::string Fields::of_groups(ArrayRef<const Group*> groups) const {
  std::string text;
  for (const Group* group : groups)
    for (const Member& member : group->members) {
      const Value* pointer = member.access.pointer;
      const std::uint64_t bytes = member.access.bytes;
      const auto place = place_of(*member.access.instruction, pointer);
      if (place) {
        append(text, *place, leaf_at(*place, bytes), member.always);
        continue;
      }
      for (const Place& each : places_of_join(pointer))
        append(text, each, leaf_at(each, bytes), false);
    }
  return text;
}

std::string Fields::of_access(const Instruction& instruction, const Value* pointer,
                              std::uint64_t bytes) const {
  std::string text;
  const auto place =
      isa<CallBase>(instruction) ? by_pointer(pointer, 0) : place_of(instruction, pointer);
  if (!place || place->type == nullptr) return text;
  append(text, *place, leaf_at(*place, std::max<std::uint64_t>(bytes, 1)), true);
  return text;
}

Leaf Fields::leaf_at(const Place& place, std::uint64_t bytes) const {
  const auto at = static_cast<std::uint64_t>(place.offset);
  return place.type != nullptr ? layouts_.leaf(*place.type, at, bytes)
                               : Leaf{"", at, bytes, nullptr};
}

// A type that contains TBAA's type at that place is the one that a split would change.
std::optional<Place> Fields::place_of(const Instruction& instruction, const Value* pointer) const {
  const auto tagged = by_tbaa(instruction);
  const auto pointed = by_pointer(pointer, 0);
  if (!tagged) return pointed;
  if (!pointed || pointed->type == nullptr) return tagged;
  if (tagged->type == nullptr) return pointed;
  const std::int64_t begin = pointed->offset - tagged->offset;
  const bool is_outer =
      pointed->size > tagged->size && begin >= 0 &&
      layouts_.contains(*pointed->type, *tagged->type, static_cast<std::uint64_t>(begin));
  return is_outer ? pointed : tagged;
}

std::optional<Place> Fields::by_tbaa(const Instruction& instruction) const {
  const auto [node, offset] = struct_path(instruction);
  if (node == nullptr) return std::nullopt;
  const StringRef name = name_of_node(*node);
  const DICompositeType* type = layouts_.find(name, 0);
  if (type == nullptr) return std::nullopt;
  return layouts_.place(*type, static_cast<std::int64_t>(offset));
}

std::optional<Place> Fields::in_llvm_type(const GEPOperator& gep, std::int64_t beyond) const {
  auto* type = dyn_cast<StructType>(gep.getSourceElementType());
  if (type == nullptr || type->isOpaque() || !type->isSized()) return std::nullopt;
  const TypeSize size = layout_.getTypeAllocSize(type);
  if (size.isScalable() || size.getFixedValue() == 0) return std::nullopt;
  // Indices after the first lead into the structure; the elements of an array count as its first.
  SmallVector<Value*, 4> indices;
  for (const Use& index : gep.indices()) {
    const bool is_first = indices.empty();
    const bool known = !is_first && isa<ConstantInt>(index.get());
    Type* i32 = Type::getInt32Ty(type->getContext());
    indices.push_back(known ? index.get() : ConstantInt::get(i32, 0));
  }
  const std::int64_t offset = layout_.getIndexedOffsetInType(type, indices) + beyond;
  const std::int64_t inside = modulo(offset, size.getFixedValue());
  const StringRef name = source_name(*type);
  if (name.empty()) return std::nullopt;
  if (const DICompositeType* known = layouts_.find(name, size.getFixedValue()))
    return layouts_.place(*known, inside);
  return Place{nullptr, name.str(), size.getFixedValue(), inside};
}

std::optional<Place> Fields::by_pointer(const Value* pointer, unsigned depth) const {
  std::optional<Place> by_name;
  std::int64_t offset = 0;
  const Value* at = pointer;
  for (unsigned step = 0;; ++step) {
    if (step == max_chain) return by_name;
    at = at->stripPointerCasts();
    const auto* gep = dyn_cast<GEPOperator>(at);
    if (gep == nullptr) break;
    if (const auto typed = in_llvm_type(*gep, offset)) by_name = typed;
    APInt bytes(64, 0);
    if (!gep->getType()->isVectorTy() && gep->accumulateConstantOffset(layout_, bytes)) {
      offset += bytes.getSExtValue();
      at = gep->getPointerOperand();
      continue;
    }
    // An element of an array: an array of structures, or an array in a field.
    if (depth == max_steps) return by_name;
    const auto outer = by_pointer(gep->getPointerOperand(), depth + 1);
    if (!outer || outer->type == nullptr) return by_name;
    const Type* element = gep->getSourceElementType();
    const TypeSize size =
        layout_.getTypeAllocSize(const_cast<Type*>(element));  // size of an element
    if (!size.isScalable() && size.getFixedValue() == outer->size)
      return layouts_.place(*outer->type, modulo(by_name ? by_name->offset : offset, outer->size));
    const Leaf leaf = layouts_.leaf(*outer->type, static_cast<std::uint64_t>(outer->offset), 1);
    const auto* array = dyn_cast_or_null<DICompositeType>(leaf.type);
    const bool is_array = array != nullptr && array->getTag() == dwarf::DW_TAG_array_type;
    const bool fits =
        !by_name || by_name->type == nullptr ||
        layouts_.contains(*outer->type, *by_name->type, static_cast<std::uint64_t>(outer->offset));
    return is_array && fits ? outer : by_name;
  }
  const DICompositeType* type = layouts_.structure(pointee_of(at, depth));
  if (type == nullptr || type->getSizeInBits() < 8) return by_name;
  return layouts_.place(*type, modulo(offset, type->getSizeInBits() / 8));
}

// Whether paths join that point to different offsets behind one address.
bool Fields::points_to_several(const Value& join) const {
  if (!isa<PHINode, SelectInst>(join)) return false;
  const auto* user = cast<User>(&join);
  const unsigned first = isa<SelectInst>(join) ? 1 : 0;  // a select's condition comes first
  SmallDenseMap<const Value*, APInt> offsets;
  for (unsigned i = first; i < std::min(user->getNumOperands(), first + max_joined); ++i) {
    APInt offset(layout_.getIndexTypeSizeInBits(join.getType()), 0);
    const Value* from =
        user->getOperand(i)->stripAndAccumulateConstantOffsets(layout_, offset, true);
    const auto [known, is_new] = offsets.try_emplace(from, offset);
    if (!is_new && known->second != offset) return true;
  }
  return false;
}

SmallVector<Place, 4> Fields::places_of_join(const Value* pointer) const {
  SmallVector<Place, 4> places;
  APInt beyond(layout_.getIndexTypeSizeInBits(pointer->getType()), 0);
  const Value* join = pointer->stripAndAccumulateConstantOffsets(layout_, beyond, true);
  SmallVector<const Value*, max_joined> waiting = {join};
  SmallPtrSet<const Value*, max_joined> seen;
  while (!waiting.empty() && seen.size() < max_joined) {
    const Value* value = waiting.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (const auto* phi = dyn_cast<PHINode>(value)) {
      for (const Value* each : phi->incoming_values()) waiting.push_back(each->stripPointerCasts());
    } else if (const auto* select = dyn_cast<SelectInst>(value)) {
      for (const Value* each : {select->getTrueValue(), select->getFalseValue()})
        waiting.push_back(each->stripPointerCasts());
    } else if (value != join) {
      if (const auto place = by_pointer(value, 0); place && place->type != nullptr)
        places.push_back(layouts_.place(
            *place->type, modulo(place->offset + beyond.getSExtValue(), place->size)));
    }
  }
  return places;
}

const DIType* Fields::variable_type(const Value* value) const {
  const auto known = variables_.find(value);
  if (known == variables_.end()) return nullptr;
  return layouts_.value_type(known->second.type, known->second.offset);
}

const DIType* Fields::pointee_of(const Value* base, unsigned depth) const {
  // At -O0 the pointer is loaded from the variable's memory.
  if (!isa<AllocaInst>(base))
    if (const DIType* type = Layouts::pointee(variable_type(base))) return type;
  if (const auto* global = dyn_cast<GlobalVariable>(base)) {
    SmallVector<DIGlobalVariableExpression*, 1> debug;
    global->getDebugInfo(debug);
    return debug.empty() ? nullptr : debug.front()->getVariable()->getType();
  }
  if (depth == max_steps) return nullptr;
  if (const auto* load = dyn_cast<LoadInst>(base))
    return Layouts::pointee(loaded_type(*load, depth + 1));
  if (const auto* call = dyn_cast<CallBase>(base)) {
    const Function* callee = call->getCalledFunction();
    const DISubprogram* program = callee != nullptr ? callee->getSubprogram() : nullptr;
    if (program == nullptr || program->getType() == nullptr) return nullptr;
    const DITypeRefArray types = program->getType()->getTypeArray();
    return types.size() > 0 ? Layouts::pointee(types[0]) : nullptr;
  }
  if (points_to_several(*base)) return nullptr;
  if (const auto* phi = dyn_cast<PHINode>(base)) {
    const unsigned count = std::min(phi->getNumIncomingValues(), max_joined);
    for (const Value* value : make_range(phi->value_op_begin(), phi->value_op_begin() + count))
      if (const DIType* type = type_at(by_pointer(value, depth + 1))) return type;
  }
  if (const auto* select = dyn_cast<SelectInst>(base)) {
    for (const Value* value : {select->getTrueValue(), select->getFalseValue()})
      if (const DIType* type = type_at(by_pointer(value, depth + 1))) return type;
  }
  return nullptr;
}

const DIType* Fields::type_at(const std::optional<Place>& place) const {
  if (!place || place->type == nullptr || place->offset == 0) return place ? place->type : nullptr;
  return layouts_.value_type(place->type, static_cast<std::uint64_t>(place->offset));
}

const DIType* Fields::loaded_type(const LoadInst& load, unsigned depth) const {
  const Value* from = load.getPointerOperand()->stripPointerCasts();
  if (isa<AllocaInst>(from)) return variable_type(from);
  if (const auto* global = dyn_cast<GlobalVariable>(from))
    return layouts_.value_type(pointee_of(global, depth), 0);
  auto place = by_tbaa(load);
  if (!place) place = by_pointer(from, depth);
  if (!place || place->type == nullptr) return nullptr;
  return layouts_.value_type(place->type, static_cast<std::uint64_t>(place->offset));
}

}  // namespace nearfar::pass
