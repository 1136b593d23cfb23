// Accesses of instructions to memory that may be far.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cstdint>
#include <vector>

namespace nearfar::pass {

struct Access {
  llvm::Instruction* instruction = nullptr;
  llvm::Value* pointer = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  bool loads = false;
  bool stores = false;
};

// A vector access with a pointer per lane.
struct LaneAccess {
  llvm::IntrinsicInst* instruction = nullptr;
  llvm::Value* pointers = nullptr;
  llvm::Value* mask = nullptr;
  bool stores = false;
};

// memcpy and similar functions: they touch bytes in order, and their number is known before the
// call or from its result.
struct RangeAccess {
  llvm::Instruction* instruction = nullptr;
  llvm::Value* pointer = nullptr;
  llvm::Value* bytes = nullptr;
  bool stores = false;
  enum class Length {
    given,      // `bytes`
    returned,   // the result, plus 1 for the NUL (strlen)
    to_result,  // up to and including the byte at the result; `bytes` if it is null (memchr)
  } length = Length::given;
};

// A function that reads until it finds something: strcmp, memchr, ...
struct StringAccess {
  llvm::CallBase* call = nullptr;
  llvm::Value* first = nullptr;
  llvm::Value* second = nullptr;  // or null
  llvm::Value* limit = nullptr;   // or null: none
  llvm::Value* stop = nullptr;    // or null: no stop byte
};

// An explicit write-back of a line.
struct Flush {
  llvm::Instruction* instruction = nullptr;
  llvm::Value* address = nullptr;  // a pointer or an integer
  bool stays = false;              // whether the line stays in the caches (clwb)
};

// A non-temporal store of `bytes` bytes, which fetches no line.
struct StreamStore {
  llvm::Instruction* instruction = nullptr;
  llvm::Value* pointer = nullptr;
  std::uint64_t bytes = 0;
};

struct Accesses {
  std::vector<Access> plain;
  std::vector<LaneAccess> lanes;
  std::vector<RangeAccess> ranges;
  std::vector<StringAccess> strings;
  std::vector<Flush> flushes;
  std::vector<StreamStore> stream_stores;
  std::vector<llvm::Instruction*> fences;
  // Instructions with a lock prefix wait like fences; used only if the module flushes.
  std::vector<llvm::Instruction*> locked;
  bool inline_assembly = false;
  bool unknown_intrinsic = false;

  // Whether there is any access to report.
  bool any() const {
    return !plain.empty() || !lanes.empty() || !ranges.empty() || !strings.empty() ||
           !flushes.empty() || !stream_stores.empty() || !fences.empty() || !locked.empty();
  }
};

// Whether `pointer` is practically always cached: a small local variable, or a fixed place in a
// global.
bool stays_near_core(llvm::Value* pointer, const llvm::DataLayout& layout);

// Adds the accesses of `instruction` that need a test.
void find_access(llvm::Instruction& instruction, const llvm::DataLayout& layout,
                 Accesses& accesses);

}  // namespace nearfar::pass
