// Transactions of libpmemobj: begin, end and snapshots.
//
// Call depth is not tracked here, because failures leave transactions by longjmp. Calls between
// libpmemobj's functions are recorded twice, which readers tolerate.
#include "crash/hooks_tx.hpp"

#include <setjmp.h>
#include <stdarg.h>

using namespace nearfar::crash;

namespace {

// TX_PARAM_* (libpmemobj/tx_base.h): a list of pairs, or triples for callbacks, that ends with 0.
constexpr long param_none = 0;
constexpr long param_callback = 3;
constexpr unsigned max_params = 12;

// Depth of nested transactions: a failure leaves by longjmp, but still ends each transaction.
__attribute__((tls_model("initial-exec"))) thread_local unsigned depth = 0;

void record_snapshot(const void* address, std::size_t bytes, std::uint64_t flags,
                     const Stack& stack) {
  const std::uint64_t offset = offset_of(address);
  const bool outside = offset == outside_pool;
  record_event(NF_CRASH_TX_SNAPSHOT, outside ? reinterpret_cast<std::uint64_t>(address) : offset,
               bytes, stack, outside ? 1 : 0, &flags, sizeof flags);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int pmemobj_tx_begin(void* pool, void* environment, ...) {
  NEARFAR_NEXT(pmemobj_tx_begin);
  long params[max_params + 1] = {};
  va_list list;
  va_start(list, environment);
  for (unsigned i = 0; i + 2 < max_params; ++i) {
    params[i] = va_arg(list, int);
    if (params[i] == param_none) break;
    const bool is_callback = params[i] == param_callback;
    params[++i] = va_arg(list, long);
    if (is_callback) params[++i] = va_arg(list, long);
  }
  va_end(list);
  record_event(NF_CRASH_TX_BEGIN, ++depth, 0, NEARFAR_CRASH_STACK,
               offset_of(pool) == outside_pool ? 1 : 0);
  return real(pool, environment, params[0], params[1], params[2], params[3], params[4], params[5],
              params[6], params[7], params[8], params[9], params[10], params[11], params[12]);
}

void pmemobj_tx_abort(int error) {
  NEARFAR_NEXT(pmemobj_tx_abort);
  record_event(NF_CRASH_TX_ABORT, depth, 0, NEARFAR_CRASH_STACK);
  real(error);
}

void pmemobj_tx_commit() {
  NEARFAR_NEXT(pmemobj_tx_commit);
  record_event(NF_CRASH_TX_COMMIT, depth, 0, NEARFAR_CRASH_STACK);
  real();
}

int pmemobj_tx_end() {
  NEARFAR_NEXT(pmemobj_tx_end);
  const int error = real();
  record_event(NF_CRASH_TX_END, depth, 0, NEARFAR_CRASH_STACK, static_cast<std::uint32_t>(error));
  if (depth != 0) --depth;
  return error;
}

int pmemobj_tx_add_range(Oid object, std::uint64_t begin, std::size_t bytes) {
  NEARFAR_NEXT(pmemobj_tx_add_range);
  record_snapshot(direct(object, begin), bytes, 0, NEARFAR_CRASH_STACK);
  return real(object, begin, bytes);
}

int pmemobj_tx_xadd_range(Oid object, std::uint64_t begin, std::size_t bytes, std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_tx_xadd_range);
  record_snapshot(direct(object, begin), bytes, flags, NEARFAR_CRASH_STACK);
  return real(object, begin, bytes, flags);
}

int pmemobj_tx_add_range_direct(const void* address, std::size_t bytes) {
  NEARFAR_NEXT(pmemobj_tx_add_range_direct);
  record_snapshot(address, bytes, 0, NEARFAR_CRASH_STACK);
  return real(address, bytes);
}

int pmemobj_tx_xadd_range_direct(const void* address, std::size_t bytes, std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_tx_xadd_range_direct);
  record_snapshot(address, bytes, flags, NEARFAR_CRASH_STACK);
  return real(address, bytes, flags);
}
}
#pragma GCC visibility pop
