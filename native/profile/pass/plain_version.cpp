#include "plain_version.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

using namespace llvm;

namespace nearfar::pass {

namespace {

// Whether an assembly statement may define a symbol, which must exist only once. Numeric labels are
// local.
bool may_define_symbol(StringRef assembly) {
  if (assembly.contains(".glob") || assembly.contains(".set") || assembly.contains("="))
    return true;
  for (std::size_t at = assembly.find(':'); at != StringRef::npos;
       at = assembly.find(':', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (isAlnum(assembly[begin - 1]) || assembly[begin - 1] == '_' ||
                         assembly[begin - 1] == '.' || assembly[begin - 1] == '$'))
      --begin;
    // A segment's prefix (%fs:) is no label.
    const bool segment = begin > 0 && assembly[begin - 1] == '%';
    if (!segment && begin < at && !isDigit(assembly[begin])) return true;
  }
  return assembly.contains(".macro") || assembly.contains(".comm");
}

// Whether an entry can jump to a version by a tail call. This is impossible for an argument that is
// passed as a copy on the stack: LLVM writes the copy over the return address. It is also
// impossible if the result is stored in the caller's memory.
bool may_leave_by_tail_call(const Function& function) {
  for (const Argument& argument : function.args())
    if (argument.hasPassPointeeByValueCopyAttr()) return false;
  Type* const result = function.getReturnType();
  if (result->isVoidTy()) return true;
  const std::uint64_t bits = function.getParent()->getDataLayout().getTypeSizeInBits(result);
  const auto* const parts = dyn_cast<StructType>(result);
  const bool is_complex =
      parts != nullptr && parts->getNumElements() == 2 && parts->getElementType(0)->isX86_FP80Ty();
  return is_complex || bits <= (result->isVectorTy() ? 512 : 128);
}

bool may_be_copied(const Function& function) {
  if (!may_leave_by_tail_call(function)) return false;
  for (const Instruction& instruction : instructions(function)) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    if (call == nullptr) continue;
    if (call->cannotDuplicate() || isa<CallBrInst>(call)) return false;
    if (const auto* assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
      if (may_define_symbol(assembly->getAsmString())) return false;
  }
  return true;
}

// Finds the variables whose value contains `constant`. Returns false if anything else uses it,
// except instructions of `function`.
bool find_tables(const Constant& constant, const Function& function,
                 SmallPtrSetImpl<GlobalVariable*>& tables) {
  for (const User* user : constant.users()) {
    if (const auto* instruction = dyn_cast<Instruction>(user)) {
      if (instruction->getFunction() != &function) return false;
    } else if (auto* variable = dyn_cast<GlobalVariable>(const_cast<User*>(user))) {
      if (!variable->hasLocalLinkage() || !variable->isConstant()) return false;
      if (tables.insert(variable).second && !find_tables(*variable, function, tables)) return false;
    } else if (!find_tables(*cast<Constant>(user), function, tables)) {
      return false;
    }
  }
  return true;
}

// Finds the tables of labels through which `function` jumps; returns false if other functions use
// its labels.
bool find_label_tables(Function& function, SmallPtrSetImpl<GlobalVariable*>& tables) {
  for (BasicBlock& block : function) {
    if (!block.hasAddressTaken()) continue;
    const BlockAddress* label = BlockAddress::lookup(&block);
    if (label != nullptr && !find_tables(*label, function, tables)) return false;
  }
  return true;
}

// If another file's version of `function` is linked, `copy` is discarded together with `function`.
void keep_beside(Function& copy, const Function& function) {
  copy.setLinkage(GlobalValue::InternalLinkage);
  copy.setVisibility(GlobalValue::DefaultVisibility);
  copy.setDLLStorageClass(GlobalValue::DefaultStorageClass);
  copy.setDSOLocal(true);
  copy.setComdat(const_cast<Comdat*>(function.getComdat()));
}

Function* make_plain(Function& function, const SmallPtrSetImpl<GlobalVariable*>& tables) {
  ValueToValueMapTy values;
  Module& module = *function.getParent();
  for (GlobalVariable* table : tables) {
    auto* other = new GlobalVariable(module, table->getValueType(), true, table->getLinkage(),
                                     nullptr, table->getName() + ".plain");
    other->copyAttributesFrom(table);
    values[table] = other;
  }
  Function* plain = CloneFunction(&function, values);
  for (GlobalVariable* table : tables)
    cast<GlobalVariable>(values[table])->setInitializer(MapValue(table->getInitializer(), values));
  plain->setName(function.getName() + ".plain");
  keep_beside(*plain, function);
  return plain;
}

// Whether calls in `caller` may bypass the symbol of `callee`.
bool is_bound(const Function& caller, const Function& callee) {
  return !callee.isInterposable() &&
         (!callee.hasComdat() || callee.getComdat() == caller.getComdat());
}

// Tail-calls `target`, without a stack frame of its own.
void leave_for(IRBuilder<>& builder, Function& target, Function& entry) {
  SmallVector<Value*, 8> arguments;
  for (Argument& argument : entry.args()) arguments.push_back(&argument);
  CallInst* call = builder.CreateCall(&target, arguments);
  call->setCallingConv(entry.getCallingConv());
  call->setAttributes(entry.getAttributes().removeFnAttributes(entry.getContext()));
  call->setTailCallKind(CallInst::TCK_MustTail);
  if (entry.getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(call);
}

// Gives a new function the name, linkage and attributes of `function`.
Function* take_place(Function& function) {
  Function* entry = Function::Create(function.getFunctionType(), function.getLinkage(),
                                     function.getAddressSpace(), "", function.getParent());
  entry->copyAttributesFrom(&function);
  entry->setPersonalityFn(nullptr);
  entry->setComdat(function.getComdat());
  entry->takeName(&function);
  function.setName(entry->getName() + ".traced");
  keep_beside(function, *entry);
  return entry;
}

}  // namespace

void PlainVersions::keep(Function& function) {
  SmallPtrSet<GlobalVariable*, 4> tables;
  if (!may_be_copied(function) || !find_label_tables(function, tables)) return;
  kept_.push_back({&function, make_plain(function, tables)});
}

void PlainVersions::bind_plain_calls() {
  DenseMap<const Function*, Function*> plain_of;
  for (const Versions& versions : kept_) plain_of[versions.traced] = versions.plain;
  for (const Versions& versions : kept_)
    for (Instruction& instruction : instructions(*versions.plain))
      if (auto* call = dyn_cast<CallBase>(&instruction); call != nullptr)
        if (const Function* callee = call->getCalledFunction())
          if (Function* plain = plain_of.lookup(callee);
              plain != nullptr && is_bound(*versions.plain, *callee))
            call->setCalledFunction(plain);
}

void PlainVersions::choose_on_entry(const Versions& versions) {
  Function& traced = *versions.traced;
  // If a traced function calls another one, no choice is needed.
  SmallPtrSet<const Use*, 8> bound;
  for (const Use& use : traced.uses())
    if (const auto* call = dyn_cast<CallBase>(use.getUser());
        call != nullptr && call->isCallee(&use) && traced_.contains(call->getFunction()) &&
        is_bound(*call->getFunction(), traced))
      bound.insert(&use);
  Function* entry = take_place(traced);
  traced.replaceUsesWithIf(entry, [&](const Use& use) {
    return !isa<BlockAddress>(use.getUser()) && !bound.contains(&use);
  });
  if (entry->use_empty() && entry->hasLocalLinkage()) return entry->eraseFromParent();
  LLVMContext& context = entry->getContext();
  IRBuilder<> builder(BasicBlock::Create(context, "", entry));
  BasicBlock* leave_traced = BasicBlock::Create(context, "", entry);
  BasicBlock* leave_plain = BasicBlock::Create(context, "", entry);
  builder.CreateCondBr(sites_.is_traced(builder), leave_traced, leave_plain);
  builder.SetInsertPoint(leave_traced);
  leave_for(builder, traced, *entry);
  builder.SetInsertPoint(leave_plain);
  leave_for(builder, *versions.plain, *entry);
}

void PlainVersions::finish() {
  for (const Versions& versions : kept_) traced_.insert(versions.traced);
  bind_plain_calls();
  for (const Versions& versions : kept_) choose_on_entry(versions);
}

}  // namespace nearfar::pass
