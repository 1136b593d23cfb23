// libnearfar_bench_count.so: interposes libpmem's and libpmemobj's functions and counts their calls
// between nearfar_bench_count_begin and _end. It needs neither library: it declares the functions
// itself.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "bench/counts.hpp"

namespace {

using nearfar::bench::Counts;

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> totals[sizeof(Counts) / sizeof(std::uint64_t)];

void count(std::size_t field, std::uint64_t by = 1) noexcept {
  if (counting.load(std::memory_order_relaxed)) {
    totals[field / sizeof(std::uint64_t)].fetch_add(by, std::memory_order_relaxed);
  }
}

std::uint64_t lines(const void* address, std::size_t length) noexcept {
  constexpr std::uint64_t line = 64;
  if (length == 0) return 0;
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  return (first + length - 1) / line - first / line + 1;
}

void count_flush(const void* address, std::size_t length) noexcept {
  count(offsetof(Counts, flush_calls));
  count(offsetof(Counts, flushed_lines), lines(address, length));
}

// libpmem's flags of pmem_memcpy and similar functions.
constexpr unsigned no_drain = 1U << 0U;
constexpr unsigned no_flush = 1U << 5U;

void count_copy(const void* address, std::size_t length, unsigned flags) noexcept {
  if ((flags & no_flush) != 0) return;
  count(offsetof(Counts, flush_calls));
  count(offsetof(Counts, copied_lines), lines(address, length));
  if ((flags & no_drain) == 0) count(offsetof(Counts, fences));
}

void count_snapshot(std::size_t length) noexcept {
  count(offsetof(Counts, snapshots));
  count(offsetof(Counts, snapshot_bytes), length);
}

struct Oid {  // PMEMoid
  std::uint64_t pool;
  std::uint64_t offset;
};

constexpr std::uint64_t no_snapshot = 1U << 2U;  // POBJ_XADD_NO_SNAPSHOT: declared, not copied
constexpr int stage_none = 0;                    // TX_STAGE_NONE

template <typename F>
F* next_definition(const char* name) noexcept {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol == nullptr) std::abort();  // cannot happen: the program called it
  F* function = nullptr;
  static_assert(sizeof function == sizeof symbol);
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

}  // namespace

// Exports `name`, which runs `act` and then the library's function.
#define INTERPOSE(result, name, parameters, arguments, act)                            \
  extern "C" __attribute__((visibility("default"))) result name parameters {           \
    static result(*const real) parameters = next_definition<result parameters>(#name); \
    act;                                                                               \
    return real arguments;                                                             \
  }

extern "C" __attribute__((visibility("default"))) void nearfar_bench_count_begin() {
  for (auto& total : totals) total.store(0);
  counting.store(true);
}

extern "C" __attribute__((visibility("default"))) void nearfar_bench_count_end(Counts* into) {
  counting.store(false);
  std::uint64_t values[sizeof(Counts) / sizeof(std::uint64_t)];
  for (std::size_t i = 0; i < std::size(values); ++i) values[i] = totals[i].load();
  std::memcpy(into, values, sizeof values);
}

// clang-format off
INTERPOSE(void, pmem_flush, (const void* a, std::size_t n), (a, n), count_flush(a, n))
INTERPOSE(void, pmem_deep_flush, (const void* a, std::size_t n), (a, n), count_flush(a, n))
INTERPOSE(void, pmem_drain, (), (), count(offsetof(Counts, fences)))
INTERPOSE(void, pmem_persist, (const void* a, std::size_t n), (a, n),
             (count_flush(a, n), count(offsetof(Counts, fences))))
INTERPOSE(int, pmem_msync, (const void* a, std::size_t n), (a, n),
             count(offsetof(Counts, msyncs)))
INTERPOSE(void*, pmem_memcpy, (void* to, const void* from, std::size_t n, unsigned flags),
             (to, from, n, flags), count_copy(to, n, flags))
INTERPOSE(void*, pmem_memmove, (void* to, const void* from, std::size_t n, unsigned flags),
             (to, from, n, flags), count_copy(to, n, flags))
INTERPOSE(void*, pmem_memset, (void* to, int c, std::size_t n, unsigned flags),
             (to, c, n, flags), count_copy(to, n, flags))
INTERPOSE(void*, pmem_memcpy_persist, (void* to, const void* from, std::size_t n),
             (to, from, n), count_copy(to, n, 0))
INTERPOSE(void*, pmem_memcpy_nodrain, (void* to, const void* from, std::size_t n),
             (to, from, n), count_copy(to, n, no_drain))
INTERPOSE(void*, pmem_memmove_persist, (void* to, const void* from, std::size_t n),
             (to, from, n), count_copy(to, n, 0))
INTERPOSE(void*, pmem_memmove_nodrain, (void* to, const void* from, std::size_t n),
             (to, from, n), count_copy(to, n, no_drain))
INTERPOSE(void*, pmem_memset_persist, (void* to, int c, std::size_t n), (to, c, n),
             count_copy(to, n, 0))
INTERPOSE(void*, pmem_memset_nodrain, (void* to, int c, std::size_t n), (to, c, n),
             count_copy(to, n, no_drain))

INTERPOSE(int, pmemobj_tx_add_range, (Oid oid, std::uint64_t at, std::size_t n), (oid, at, n),
             count_snapshot(n))
INTERPOSE(int, pmemobj_tx_add_range_direct, (const void* a, std::size_t n), (a, n),
             count_snapshot(n))
INTERPOSE(int, pmemobj_tx_xadd_range,
             (Oid oid, std::uint64_t at, std::size_t n, std::uint64_t flags), (oid, at, n, flags),
             if ((flags & no_snapshot) == 0) count_snapshot(n))
INTERPOSE(int, pmemobj_tx_xadd_range_direct,
             (const void* a, std::size_t n, std::uint64_t flags), (a, n, flags),
             if ((flags & no_snapshot) == 0) count_snapshot(n))

INTERPOSE(Oid, pmemobj_tx_alloc, (std::size_t n, std::uint64_t type), (n, type),
             count(offsetof(Counts, allocations)))
INTERPOSE(Oid, pmemobj_tx_zalloc, (std::size_t n, std::uint64_t type), (n, type),
             count(offsetof(Counts, allocations)))
INTERPOSE(Oid, pmemobj_tx_xalloc, (std::size_t n, std::uint64_t type, std::uint64_t flags),
             (n, type, flags), count(offsetof(Counts, allocations)))
INTERPOSE(Oid, pmemobj_tx_realloc, (Oid oid, std::size_t n, std::uint64_t type), (oid, n, type),
             count(offsetof(Counts, allocations)))
// pmemobj_tx_free calls pmemobj_tx_xfree by name; a test checks it.
INTERPOSE(int, pmemobj_tx_xfree, (Oid oid, std::uint64_t flags), (oid, flags),
             count(offsetof(Counts, frees)))
INTERPOSE(int, pmemobj_alloc,
             (void* pool, Oid* into, std::size_t n, std::uint64_t type,
              int (*make)(void*, void*, void*), void* arguments),
             (pool, into, n, type, make, arguments), count(offsetof(Counts, allocations)))
INTERPOSE(int, pmemobj_zalloc, (void* pool, Oid* into, std::size_t n, std::uint64_t type),
             (pool, into, n, type), count(offsetof(Counts, allocations)))
INTERPOSE(int, pmemobj_xalloc,
             (void* pool, Oid* into, std::size_t n, std::uint64_t type, std::uint64_t flags,
              int (*make)(void*, void*, void*), void* arguments),
             (pool, into, n, type, flags, make, arguments), count(offsetof(Counts, allocations)))
INTERPOSE(void, pmemobj_free, (Oid* oid), (oid), count(offsetof(Counts, frees)))
INTERPOSE(Oid, pmemobj_reserve, (void* pool, void* act, std::size_t n, std::uint64_t type),
             (pool, act, n, type), count(offsetof(Counts, allocations)))
INTERPOSE(Oid, pmemobj_xreserve,
             (void* pool, void* act, std::size_t n, std::uint64_t type, std::uint64_t flags),
             (pool, act, n, type, flags), count(offsetof(Counts, allocations)))
INTERPOSE(void, pmemobj_defer_free, (void* pool, Oid oid, void* act), (pool, oid, act),
             count(offsetof(Counts, frees)))
INTERPOSE(int, pmemobj_publish, (void* pool, void* acts, std::size_t n), (pool, acts, n),
             count(offsetof(Counts, publications)))
INTERPOSE(Oid, pmemobj_list_insert_new,
             (void* pool, std::size_t at, void* head, Oid beside, int before, std::size_t n,
              std::uint64_t type, int (*make)(void*, void*, void*), void* arguments),
             (pool, at, head, beside, before, n, type, make, arguments),
             count(offsetof(Counts, allocations)))
INTERPOSE(int, pmemobj_list_remove,
             (void* pool, std::size_t at, void* head, Oid oid, int free),
             (pool, at, head, oid, free), if (free != 0) count(offsetof(Counts, frees)))
// clang-format on

// Variable arguments (locks) cannot be forwarded, so four are: libpmemobj reads pairs of a kind and
// a lock, terminated by 0 (TX_PARAM_NONE).
extern "C" __attribute__((visibility("default"))) int pmemobj_tx_begin(void* pool, void* jump,
                                                                       std::uint64_t p1,
                                                                       std::uint64_t p2,
                                                                       std::uint64_t p3,
                                                                       std::uint64_t p4) {
  // Variable integers and pointers are passed in the same registers as named ones, so four of them
  // (two locks) arrive unchanged.
  using Begin = int(void*, void*, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
  using Stage = int();
  static Begin* const real = next_definition<Begin>("pmemobj_tx_begin");
  static Stage* const stage = next_definition<Stage>("pmemobj_tx_stage");
  if (stage() == stage_none) count(offsetof(Counts, transactions));
  return real(pool, jump, p1, p2, p3, p4);
}
