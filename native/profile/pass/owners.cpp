#include "owners.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/Path.h>

#include <string>
#include <vector>

#include "../abi.h"

using namespace llvm;

namespace nearfar::pass {

namespace {

// flang's symbol names of entities in modules and programs.
bool is_of_fortran(StringRef name) { return name.take_front(2) == "_Q"; }

bool is_fortran(const Module& module) {
  for (const Function& function : module)
    if (!function.isDeclaration() && is_of_fortran(function.getName())) return true;
  return false;
}

// Returns the variable's name in the source, with file and line if debug information contains them.
std::string name_of(const GlobalVariable& variable, bool fortran) {
  SmallVector<DIGlobalVariableExpression*, 1> known;
  variable.getDebugInfo(known);
  for (const DIGlobalVariableExpression* expression : known) {
    const DIGlobalVariable* origin = expression->getVariable();
    if (origin->getName().empty() || origin->getLine() == 0) continue;
    return (origin->getName() + " " + sys::path::filename(origin->getFilename()) + ":" +
            Twine(origin->getLine()))
        .str();
  }
  const StringRef name = variable.getName();
  if (fortran && variable.hasCommonLinkage())
    return ("/" + (name.take_back() == "_" ? name.drop_back() : name) + "/").str();
  return name.str();
}

Constant* text(Module& module, StringRef content) {
  Constant* bytes = ConstantDataArray::getString(module.getContext(), content);
  auto* variable = new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage,
                                      bytes, "__nf_owner");
  variable->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return variable;
}

// Returns the variable that the allocation's result is stored to.
const GlobalVariable* receiver_of(const CallInst& allocation) {
  for (const User* user : allocation.users()) {
    const auto* store = dyn_cast<StoreInst>(user);
    if (store == nullptr || store->getValueOperand() != &allocation) continue;
    if (const auto* variable =
            dyn_cast<GlobalVariable>(store->getPointerOperand()->stripInBoundsOffsets()))
      return variable;
  }
  return nullptr;
}

// Whether this is a call of malloc, or of flang's allocation by a descriptor, in a function without
// line numbers.
bool allocates(const CallInst& call) {
  const Function* callee = call.getCalledFunction();
  if (callee == nullptr || call.getDebugLoc()) return false;
  return callee->getName() == "malloc" || callee->getName() == "_FortranAAllocatableAllocate";
}

const GlobalVariable* variable_of(const CallInst& call) {
  if (const GlobalVariable* stored = receiver_of(call)) return stored;
  if (call.getCalledFunction()->getName() == "malloc") return nullptr;
  return dyn_cast<GlobalVariable>(call.getArgOperand(0)->stripInBoundsOffsets());
}

}  // namespace

void register_variables(Module& module, IRBuilder<>& builder) {
  Type* pointer = PointerType::get(module.getContext(), 0);
  Type* i64 = builder.getInt64Ty();
  const bool fortran = is_fortran(module);
  std::vector<GlobalVariable*> large;
  for (GlobalVariable& variable : module.globals()) {
    if (variable.isDeclarationForLinker() || variable.isThreadLocal()) continue;
    if (!variable.getValueType()->isSized() || variable.getAddressSpace() != 0) continue;
    const std::uint64_t bytes = module.getDataLayout().getTypeAllocSize(variable.getValueType());
    if (bytes >= NF_LARGE_VARIABLE) large.push_back(&variable);
  }
  for (GlobalVariable* variable : large) {
    const std::uint64_t bytes = module.getDataLayout().getTypeAllocSize(variable->getValueType());
    builder.CreateCall(
        module.getOrInsertFunction("__nf_register_variable", builder.getVoidTy(), pointer, i64,
                                   pointer),
        {variable, ConstantInt::get(i64, bytes), text(module, name_of(*variable, fortran))});
  }
}

void tag_allocations(Function& function) {
  if (!is_of_fortran(function.getName())) return;
  std::vector<CallInst*> calls;
  for (Instruction& instruction : instructions(function))
    if (auto* call = dyn_cast<CallInst>(&instruction); call != nullptr && allocates(*call))
      calls.push_back(call);
  Module& module = *function.getParent();
  Type* pointer = PointerType::get(module.getContext(), 0);
  unsigned number = 0;
  for (CallInst* call : calls) {
    ++number;
    const GlobalVariable* variable = variable_of(*call);
    if (variable == nullptr && calls.size() == 1) continue;
    const std::string name =
        variable != nullptr ? variable->getName().str() : "allocation " + std::to_string(number);
    const FunctionCallee set = module.getOrInsertFunction("nearfar_tag_set", pointer, pointer);
    IRBuilder<> builder(call);
    Value* before = builder.CreateCall(set, {text(module, name)});
    builder.SetInsertPoint(call->getNextNode());
    builder.CreateCall(set, {before});
  }
}

}  // namespace nearfar::pass
