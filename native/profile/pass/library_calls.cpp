#include "library_calls.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <array>

using namespace llvm;

namespace nearfar::pass {

namespace {

enum class Kind {
  copy,         // (destination, source, bytes)
  set,          // (destination, value, bytes)
  compare,      // (first, second, bytes)
  strings,      // (first, second)
  bounded,      // (first, second, limit), ends at NUL
  find,         // (first, byte, limit)
  find_nul,     // (first, byte), ends at the byte or at the NUL
  length,       // (first) -> length
  copy_string,  // (destination, source) or (source): reads the source until NUL; the writes are
                // counted when they are next touched, since their length is unknown here
};

struct LibraryFunction {
  const char* name;
  Kind kind;
  unsigned arguments;
};

// With _FORTIFY_SOURCE these functions are called __x_chk and get the object's size as the last
// argument.
constexpr std::array functions{
    LibraryFunction{"memcpy", Kind::copy, 3},
    LibraryFunction{"memmove", Kind::copy, 3},
    LibraryFunction{"mempcpy", Kind::copy, 3},
    LibraryFunction{"__memcpy_chk", Kind::copy, 4},
    LibraryFunction{"__memmove_chk", Kind::copy, 4},
    LibraryFunction{"__mempcpy_chk", Kind::copy, 4},
    LibraryFunction{"memset", Kind::set, 3},
    LibraryFunction{"__memset_chk", Kind::set, 4},
    LibraryFunction{"memcmp", Kind::compare, 3},
    LibraryFunction{"bcmp", Kind::compare, 3},
    LibraryFunction{"strcmp", Kind::strings, 2},
    LibraryFunction{"strcoll", Kind::strings, 2},
    LibraryFunction{"strcasecmp", Kind::strings, 2},
    LibraryFunction{"strncmp", Kind::bounded, 3},
    LibraryFunction{"strncasecmp", Kind::bounded, 3},
    LibraryFunction{"memchr", Kind::find, 3},
    LibraryFunction{"strchr", Kind::find_nul, 2},
    LibraryFunction{"strrchr", Kind::find_nul, 2},
    LibraryFunction{"strlen", Kind::length, 1},
    LibraryFunction{"strnlen", Kind::length, 2},
    LibraryFunction{"strcpy", Kind::copy_string, 2},
    LibraryFunction{"stpcpy", Kind::copy_string, 2},
    LibraryFunction{"strdup", Kind::copy_string, 1},
    LibraryFunction{"__strcpy_chk", Kind::copy_string, 3},
};

const LibraryFunction* known_function(const CallBase& call) {
  const auto* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return nullptr;
  for (const LibraryFunction& function : functions)
    if (callee->getName() == function.name && call.arg_size() == function.arguments)
      return &function;
  return nullptr;
}

}  // namespace

void add_library_call(CallBase& call, const DataLayout& layout, Accesses& accesses) {
  const LibraryFunction* function = known_function(call);
  if (function == nullptr || !call.getArgOperand(0)->getType()->isPointerTy()) return;
  Value* first = call.getArgOperand(0);
  Value* second = call.arg_size() > 1 ? call.getArgOperand(1) : nullptr;
  Value* third = call.arg_size() > 2 ? call.getArgOperand(2) : nullptr;
  const bool near = stays_near_core(first, layout);
  Value* nul = ConstantInt::get(Type::getInt32Ty(call.getContext()), 0);
  switch (function->kind) {
    case Kind::copy:
      if (!near) accesses.ranges.push_back({&call, first, third, true});
      if (!stays_near_core(second, layout))
        accesses.ranges.push_back({&call, second, third, false});
      return;
    case Kind::set:
      if (!near) accesses.ranges.push_back({&call, first, third, true});
      return;
    case Kind::compare:
      accesses.strings.push_back({&call, first, second, third, nullptr});
      return;
    case Kind::strings:
      accesses.strings.push_back({&call, first, second, nullptr, nul});
      return;
    case Kind::bounded:
      accesses.strings.push_back({&call, first, second, third, nul});
      return;
    case Kind::find:
      if (!near && isa<CallInst>(call) && !call.isMustTailCall())
        accesses.ranges.push_back({&call, first, third, false, RangeAccess::Length::to_result});
      return;
    case Kind::find_nul:
      if (!near) accesses.strings.push_back({&call, first, nullptr, nullptr, nul});
      return;
    case Kind::length:
      if (!near && isa<CallInst>(call) && !call.isMustTailCall())
        accesses.ranges.push_back({&call, first, &call, false, RangeAccess::Length::returned});
      return;
    case Kind::copy_string:
      if (function->arguments == 1) second = first;
      if (!stays_near_core(second, layout))
        accesses.strings.push_back({&call, second, nullptr, nullptr, nul});
      return;
  }
}

}  // namespace nearfar::pass
