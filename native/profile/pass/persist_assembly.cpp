#include "persist_assembly.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/InlineAsm.h>

using namespace llvm;

namespace nearfar::pass {

namespace {

// Returns the argument of an operand such as $0, ($0) or ${0:a}; null for results in registers.
Value* argument_of(const CallBase& call, StringRef operand) {
  const std::size_t dollar = operand.find('$');
  if (dollar == StringRef::npos) return nullptr;
  StringRef digits = operand.drop_front(dollar + 1);
  digits.consume_front("{");
  unsigned index = 0;
  if (digits.consumeInteger(10, index)) return nullptr;
  const auto* assembly = cast<InlineAsm>(call.getCalledOperand());
  unsigned operands = 0;
  unsigned arguments = 0;
  for (const InlineAsm::ConstraintInfo& constraint : assembly->ParseConstraints()) {
    const bool output = constraint.Type == InlineAsm::isOutput;
    if (!output && constraint.Type != InlineAsm::isInput) continue;
    const bool is_argument = !output || constraint.isIndirect;
    if (operands++ == index)
      return is_argument && arguments < call.arg_size() ? call.getArgOperand(arguments) : nullptr;
    if (is_argument) ++arguments;
  }
  return nullptr;
}

}  // namespace

bool add_persist_assembly(CallBase& call, Accesses& accesses) {
  const auto* assembly = cast<InlineAsm>(call.getCalledOperand());
  SmallVector<StringRef, 8> lines;
  SmallVector<StringRef, 8> statements;
  StringRef(assembly->getAsmString()).split(lines, '\n');
  for (const StringRef line : lines) line.split(statements, ';');
  bool all_known = true;
  // Assemblers without clflushopt and clwb: programs write clflush and xsaveopt with a prefix
  // instead.
  bool prefixed = false;
  for (StringRef statement : statements) {
    statement = statement.trim();
    const auto [word, rest] = statement.split(statement.contains('\t') ? '\t' : ' ');
    const StringRef operand = rest.trim();
    const bool was_prefixed = prefixed;
    prefixed = word == ".byte" && operand.equals_insensitive("0x66");
    const bool stays = word == "clwb" || (word == "xsaveopt" && was_prefixed);
    if (statement.empty() || prefixed || word == "pause" || word == "nop" || word == "lfence")
      continue;
    if (stays || word == "clflush" || word == "clflushopt") {
      Value* address = argument_of(call, operand);
      if (address != nullptr &&
          (address->getType()->isPointerTy() || address->getType()->isIntegerTy(64)))
        accesses.flushes.push_back({&call, address, stays});
      else
        all_known = false;
    } else if (word == "sfence" || word == "mfence") {
      accesses.fences.push_back(&call);
    } else {
      if (word == "lock") accesses.locked.push_back(&call);
      all_known = false;
    }
  }
  return all_known;
}

}  // namespace nearfar::pass
