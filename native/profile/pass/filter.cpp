#include "filter.hpp"

#include <algorithm>

using namespace llvm;

namespace nearfar::pass {

namespace {
constexpr std::uint64_t page_bytes = 4096;
}  // namespace

// Distance of sampled lines if all pages had the same hash.
std::uint64_t Filter::period_bytes() const { return line_bytes << rate_log2_; }

Value* Filter::hash(IRBuilder<>& builder, Value* address) const {
  Type* type = address->getType();
  Value* page = builder.CreateLShr(address, ConstantInt::get(type, 12));
  Value* product = builder.CreateMul(page, ConstantInt::get(type, NF_HASH_MULTIPLIER));
  return builder.CreateLShr(product, ConstantInt::get(type, NF_HASH_SHIFT));
}

Value* Filter::line(IRBuilder<>& builder, Value* address) const {
  Type* type = address->getType();
  Value* mixed = builder.CreateXor(hash(builder, address), address);
  Value* bits = builder.CreateAnd(mixed, ConstantInt::get(type, NF_FILTER_MASK(rate_log2_)));
  Value* line = builder.CreateICmpEQ(bits, ConstantInt::get(type, 0));
  return builder.CreateOr(line, whole(builder, mixed), "nf.sampled");
}

Value* Filter::whole(IRBuilder<>& builder, Value* mixed) const {
  Type* type = mixed->getType();
  return builder.CreateICmpEQ(builder.CreateAnd(mixed, ConstantInt::get(type, NF_PAGE_MASK)),
                              ConstantInt::get(type, 0), "nf.whole");
}

// Number of the last byte's line minus that of the sampled line; only the bits that the rate
// compares count. It is 0 if the last line is sampled, 1 if the line before it is, and 0 anywhere
// in a whole page.
Value* Filter::distance(IRBuilder<>& builder, Value* address, std::uint64_t bytes) const {
  Value* last = builder.CreateAdd(address, builder.getInt64(bytes - 1));
  Value* hashed = hash(builder, address);
  Value* sampled = builder.CreateLShr(hashed, builder.getInt64(NF_LINE_LOG2));
  Value* distance =
      builder.CreateSub(builder.CreateLShr(last, builder.getInt64(NF_LINE_LOG2)), sampled);
  return builder.CreateSelect(whole(builder, builder.CreateXor(hashed, address)),
                              builder.getInt64(0), distance, "nf.distance");
}

Value* Filter::within(IRBuilder<>& builder, Value* distance) const {
  const std::uint64_t all_but_one = (period_bytes() / line_bytes - 1) & ~1ull;
  return builder.CreateICmpEQ(builder.CreateAnd(distance, builder.getInt64(all_but_one)),
                              builder.getInt64(0), "nf.sampled");
}

Value* Filter::span(IRBuilder<>& builder, Value* address, std::uint64_t bytes) const {
  return within(builder, distance(builder, address, bytes));
}

// Ranges that leave their first page count as sampled: few short ranges do so, and a second hash
// would slow down all ranges.
Value* Filter::range(IRBuilder<>& builder, Value* first, Value* last) const {
  if (period_bytes() < page_bytes) return builder.getTrue();
  Value* crosses =
      builder.CreateICmpUGE(builder.CreateXor(first, last), builder.getInt64(page_bytes));
  Value* reach = builder.CreateAdd(builder.CreateSub(last, first), builder.getInt64(line_bytes));
  Value* hashed = hash(builder, first);
  Value* bits = builder.CreateAnd(hashed, builder.getInt64(NF_FILTER_MASK(rate_log2_)));
  Value* distance =
      builder.CreateAnd(builder.CreateSub(last, bits), builder.getInt64(period_bytes() - 1));
  Value* line = builder.CreateOr(crosses, builder.CreateICmpULT(distance, reach));
  return builder.CreateOr(line, whole(builder, builder.CreateXor(hashed, first)), "nf.sampled");
}

std::uint64_t Filter::short_bytes() const { return page_bytes; }

MDNode* Filter::weights(LLVMContext& context) const {
  // The branch is marked as rare even at rates near 1, where it is not: the code layout must not
  // depend on the rate, or the error-against-cost curve would compare different code.
  return MDBuilder(context).createBranchWeights(1, 1000);
}

}  // namespace nearfar::pass
