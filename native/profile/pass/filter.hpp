// The inline test whether an address is in a sampled line or a whole page (abi.h).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>

#include <cstdint>

#include "../abi.h"

namespace nearfar::pass {

inline constexpr std::int64_t line_bytes = NF_LINE_BYTES;

class Filter {
 public:
  explicit Filter(unsigned rate_log2) : rate_log2_(rate_log2) {}

  // Whether the line of `address` (i64, or a vector of them) is sampled.
  llvm::Value* line(llvm::IRBuilder<>& builder, llvm::Value* address) const;

  // distance: lines from the page's sampled line to the line of byte `address` + `bytes` - 1; upper
  // bits are not compared. within: whether one of the two lines that `bytes` (1..64) may cover is
  // sampled; if they are in one line, the line before it counts too.
  llvm::Value* distance(llvm::IRBuilder<>& builder, llvm::Value* address,
                        std::uint64_t bytes) const;
  llvm::Value* within(llvm::IRBuilder<>& builder, llvm::Value* distance) const;

  // Whether a line of the `bytes` (1..64) from `address` may be sampled. If they cross a page, the
  // first page's hash is used for both: wrong in one of 64 crossings.
  llvm::Value* span(llvm::IRBuilder<>& builder, llvm::Value* address, std::uint64_t bytes) const;

  // Whether a line from byte `first` to byte `last` may be sampled; no false negatives.
  llvm::Value* range(llvm::IRBuilder<>& builder, llvm::Value* first, llvm::Value* last) const;

  // Maximum bytes of each stream in a short loop.
  std::uint64_t short_bytes() const;

  // Branch weights of the rare case "sampled", which must not slow down the others.
  llvm::MDNode* weights(llvm::LLVMContext& context) const;

 private:
  llvm::Value* hash(llvm::IRBuilder<>& builder, llvm::Value* address) const;
  // Whether a page is whole; `mixed` is the hash xor an address in it.
  llvm::Value* whole(llvm::IRBuilder<>& builder, llvm::Value* mixed) const;
  std::uint64_t period_bytes() const;

  unsigned rate_log2_;
};

}  // namespace nearfar::pass
