// malloc and its family, which strdup and the like call, and the operators of C++.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "run/arenas.hpp"
#include "run/far_heap.hpp"
#include "run/foreign_blocks.hpp"
#include "run/jemalloc.hpp"
#include "run/operators.hpp"
#include "run/placement.hpp"
#include "run/shadow.hpp"
#include "run/snapshot_requests.hpp"
#include "run/stack_objects.hpp"
#include "run/state.hpp"

using nearfar::profile::Call;
using namespace nearfar::run;

namespace {

[[gnu::noinline]] void record(void* block, std::size_t size, Recognised recognised) {
  record_block(block, size, recognised.object);
  request_snapshot_after_growth();
}

// Bytes until this thread's next sampled allocation. Starts as zero, so a thread's first allocation
// sets it for the mode. Where nothing is placed, this countdown is the only extra cost of malloc.
__thread std::int64_t countdown __attribute__((tls_model("initial-exec")));
// The same of the operator new. It stays ended where another library's operator has to serve.
__thread std::int64_t new_countdown __attribute__((tls_model("initial-exec")));
// Whether the operators serve, and new has met Mode::every.
bool operators_serve_every = false;

// Where nothing is placed, sampled blocks have their own addresses, so that free detects them by
// one comparison: those of this target, which is near memory too.
constexpr unsigned sampled = 1;
// Bytes of addresses from the first on that free returns without a check: 0 where all blocks are
// placed.
std::uint64_t plain_bytes = std::uint64_t{near_slots} << slot_bits;
// The same of the operator delete: 0 too until it is known that no other library's has to serve.
std::uint64_t plain_deleted_bytes = 0;
inline bool is_plain(const void* block) {
  return reinterpret_cast<std::uint64_t>(block) - first_address < plain_bytes;
}

// Flags of mallocx for a block alone on its page, whose word in the shadow is then only its own.
int own_page(int flags) {
  constexpr int page_log2 = 12;
  return (flags & 63) >= page_log2 ? flags : (flags & ~63) | MALLOCX_LG_ALIGN(page_log2);
}

void record_chosen_block(void* block, std::size_t size, Recognised recognised) {
  // A block outside the samples' addresses (when they are used up) could not be removed by free.
  if (is_plain(block)) return;
  if (size < sample_bytes) {
    record_sample(block, recognised.object);
  } else {
    record_block(block, size, recognised.object);
  }
  request_snapshot_after_growth();
}

// Bytes between checks while inert, because the library may wake up.
constexpr std::int64_t inert_distance = 1 << 20;
// Below any countdown, so that every allocation is served by `allocate_at_countdown_end`.
constexpr std::int64_t below_any_countdown = INT64_MIN / 2;

// Random, from half to one and a half of the mean, because programs allocate in patterns.
std::int64_t next_distance() {
  static __thread std::uint64_t dice __attribute__((tls_model("initial-exec")));
  if (dice == 0) dice = reinterpret_cast<std::uint64_t>(&dice) | 1;
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  return static_cast<std::int64_t>(sample_bytes / 2 + dice % sample_bytes);
}

inline bool countdown_ended(std::int64_t& bytes, std::size_t size) {
  // A size that no memory has must not wrap the countdown to a large number.
  const bool beyond = __builtin_sub_overflow(bytes, static_cast<std::int64_t>(size), &bytes);
  return __builtin_expect(beyond || bytes < 0, 0);
}

// Serves an allocation at the end of the countdown.
[[gnu::noinline]] void* allocate_at_countdown_end(std::size_t size, int flags, Call call);

[[gnu::noinline]] void forget_recorded(void* block) {
  const int error = errno;
  const std::size_t size = usable_size(block);
  request_snapshot_before_free(size);
  forget_block(block, size);
  errno = error;
}

// Records a small block whose target was decided by its call alone. Its whole stack may show that
// the call decides too little: then the stacks of later blocks decide.
[[gnu::noinline]] void* record_decided(void* block, std::size_t size, Call call) {
  const Recognised recognised = recognise(call, size, false);
  const unsigned decided = decided_target(call.return_address);
  if (decided != undecided && recognised.target != decided) leave_undecided(call.return_address);
  record(block, size, recognised);
  return block;
}

[[gnu::noinline]] void* allocate_recognised(std::size_t size, int flags, Call call) {
  const Recognised recognised = recognise(call, size, false);
  void* block = nullptr;
  if (recognised.target != 0) {
    block = far_malloc(recognised.target, size, flags);
  } else {
    // je_malloc has a fast path that je_mallocx does not.
    block = flags == 0 ? je_malloc(size) : je_mallocx(size == 0 ? 1 : size, flags);
  }
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (is_recorded(block, size)) record(block, size, recognised);
  return block;
}

[[gnu::noinline]] void* allocate_sample(std::size_t size, int flags, Call call) {
  // Libraries allocate in constructors that run before this library's.
  if (mode == Mode::inert) wake();
  if (mode == Mode::every) {
    countdown = below_any_countdown;
    return allocate_recognised(size, flags, call);
  }
  countdown = mode == Mode::samples ? next_distance() : inert_distance;
  void* block = mode == Mode::samples ? far_malloc(sampled, size, own_page(flags))
                                      : je_mallocx(size == 0 ? 1 : size, flags);
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (mode == Mode::samples) record_chosen_block(block, size, recognise(call, size, false));
  return block;
}

[[gnu::noinline]] void* allocate_at_countdown_end(std::size_t size, int flags, Call call) {
  if (mode != Mode::every) return allocate_sample(size, flags, call);
  countdown = below_any_countdown;
  return allocate_recognised(size, flags, call);
}

// Serves a small block whose target is decided by its call; null: its stack has to decide, or
// another heap serves it.
inline void* allocate_decided(std::size_t size, unsigned target) {
  if (target == 0) return je_malloc(size);
  return target == far_heap_target ? far_heap_malloc(size) : nullptr;
}

// `flags` as for mallocx.
inline void* allocate(std::size_t size, int flags, Call call) {
  if (countdown_ended(countdown, size)) return allocate_at_countdown_end(size, flags, call);
  void* block = flags == 0 ? je_malloc(size) : je_mallocx(size == 0 ? 1 : size, flags);
  if (__builtin_expect(block == nullptr, 0)) errno = ENOMEM;
  return block;
}

inline void free_unrecorded(void* block) {
  if (in_near_heap(block)) {
    je_free(block);
  } else if (in_far_heap(block) && !is_divided(block)) {
    jf_free(block);
  } else {
    far_free(target_of(block), block);
  }
}

[[gnu::noinline]] void free_recorded(void* block) {
  forget_recorded(block);
  free_unrecorded(block);
}

// Every call in it is its last, so that it needs no stack.
void free_checked(void* block) {
  if (__builtin_expect(!is_ours(block), 0)) {
    if (block == nullptr) return;
    return foreign_free(block);
  }
  if (__builtin_expect(may_be_recorded(block), 0)) return free_recorded(block);
  free_unrecorded(block);
}

[[gnu::noinline]] void* move_block(void* block, std::size_t size, Call call) {
  const Recognised recognised =
      mode == Mode::inert ? Recognised{NF_RUN_NO_OBJECT, 0} : recognise(call, size, false);
  const unsigned wanted = mode == Mode::samples ? sampled : recognised.target;
  // No target: a block that went near because its thread ended.
  const unsigned target =
      target_of(block) == 0 && !in_near_heap(block) ? NF_RUN_TARGETS : target_of(block);
  const int alignment = wanted == sampled && mode == Mode::samples ? own_page(0) : 0;
  const std::size_t old = usable_size(block);
  if (shadow != nullptr && may_be_recorded(block)) forget_block(block, old);
  void* result = nullptr;
  if (wanted == target) {
    result = target == 0 ? je_realloc(block, size) : far_realloc(target, block, size, alignment);
  } else {
    result = wanted == 0 ? je_malloc(size) : far_malloc(wanted, size, alignment);
    if (result != nullptr) {
      memcpy(result, block, old < size ? old : size);
      free_checked(block);
    }
  }
  if (result == nullptr) {
    // The old block stays, but its object is now known only by the verb's last snapshot.
    errno = ENOMEM;
    return nullptr;
  }
  if (mode == Mode::every) {
    if (is_recorded(result, size)) record(result, size, recognised);
    return result;
  }
  if (mode == Mode::samples) record_chosen_block(result, size, recognised);
  if (countdown < 0) countdown = mode == Mode::samples ? next_distance() : inert_distance;
  return result;
}

void* resize(void* block, std::size_t size, Call call) {
  if (block == nullptr) return allocate(size, 0, call);
  if (size == 0) {
    free_checked(block);
    return nullptr;
  }
  if (!is_ours(block)) return foreign_realloc(block, size);
  const bool plain = is_plain(block) && !countdown_ended(countdown, size);
  return plain ? je_realloc(block, size) : move_block(block, size, call);
}

// Serves a block, or `no_block` without memory. A macro, and the call no variable of it: it would
// be kept in registers, which have to be saved.
#define NEARFAR_SERVE(size, bytes, is_every, at_end, no_block)                        \
  void* block = nullptr;                                                              \
  if (!countdown_ended(bytes, size)) {                                                \
    block = je_malloc(size);                                                          \
  } else if (!(is_every) || (size) >= min_interpreted_bytes) {                        \
    return at_end;                                                                    \
  } else {                                                                            \
    block = allocate_decided(size, decided_target(NEARFAR_THIS_CALL.return_address)); \
    if (__builtin_expect(block == nullptr, 0)) {                                      \
      block = allocate_recognised(size, 0, NEARFAR_THIS_CALL);                        \
    } else if (__builtin_expect(is_recorded(block, size), 0)) {                       \
      block = record_decided(block, size, NEARFAR_THIS_CALL);                         \
    }                                                                                 \
  }                                                                                   \
  return __builtin_expect(block == nullptr, 0) ? (no_block) : block;

inline void give_back(void* block) {
  if (__builtin_expect(is_plain(block), 1)) {
    je_free(block);
  } else {
    free_checked(block);
  }
}

// An own one: std::nothrow would need a C++ library.
constexpr std::nothrow_t no_throw{};
using New = void* (*)(std::size_t, const std::nothrow_t*);

// Calls the C++ library's operator, which calls handlers. Without one, nothing can be thrown.
[[gnu::noinline]] void* new_without_memory(std::size_t size, Operator form, Call call) {
  const auto* caller = reinterpret_cast<const void*>(call.return_address);
  const auto next = reinterpret_cast<New>(operator_without_memory(form, caller));
  if (next != nullptr) return next(size, &no_throw);
  if (form == new_plain || form == new_array) abort();
  return nullptr;
}

[[gnu::noinline]] void* new_at_countdown_end(std::size_t size, Operator form, Call call) {
  const auto replaced = reinterpret_cast<New>(replaced_operator(form));
  if (replaced != nullptr) {
    new_countdown = below_any_countdown;
    return replaced(size, &no_throw);
  }
  const std::int64_t kept = countdown;
  void* block = allocate_at_countdown_end(size, 0, call);
  new_countdown = countdown;
  if (mode != Mode::every) countdown = kept;
  __atomic_store_n(&operators_serve_every, mode == Mode::every, __ATOMIC_RELAXED);
  return block == nullptr ? new_without_memory(size, form, call) : block;
}

#define NEARFAR_NEW(size, form)                                                                 \
  NEARFAR_SERVE(size, new_countdown, __atomic_load_n(&operators_serve_every, __ATOMIC_RELAXED), \
                new_at_countdown_end(size, form, NEARFAR_THIS_CALL),                            \
                new_without_memory(size, form, NEARFAR_THIS_CALL))

[[gnu::noinline]] void delete_checked(void* block, std::size_t second, Operator form) {
  using Delete = void (*)(void*, std::size_t);
  if (!__atomic_load_n(&operators_served, __ATOMIC_RELAXED)) {
    const auto replaced = reinterpret_cast<Delete>(replaced_operator(form));
    if (replaced != nullptr) return replaced(block, second);
  }
  const std::uint64_t bytes = __atomic_load_n(&plain_bytes, __ATOMIC_SEQ_CST);
  if (bytes != 0 && __atomic_load_n(&plain_deleted_bytes, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&plain_deleted_bytes, bytes, __ATOMIC_SEQ_CST);
    // Another thread may have woken the library meanwhile.
    if (__atomic_load_n(&plain_bytes, __ATOMIC_SEQ_CST) == 0) {
      __atomic_store_n(&plain_deleted_bytes, 0, __ATOMIC_SEQ_CST);
    }
  }
  give_back(block);
}

// `second` is a size, or a tag's address: forms without a second parameter ignore it.
inline void delete_block(void* block, std::size_t second, Operator form) {
  const std::uint64_t bytes = __atomic_load_n(&plain_deleted_bytes, __ATOMIC_RELAXED);
  if (__builtin_expect(reinterpret_cast<std::uint64_t>(block) - first_address < bytes, 1)) {
    je_free(block);
  } else if (__builtin_expect(__atomic_load_n(&operators_serve_every, __ATOMIC_RELAXED), 1)) {
    free_checked(block);
  } else {
    delete_checked(block, second, form);
  }
}

bool is_power_of_two(std::size_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

namespace nearfar::run {
void check_next_allocation() {
  countdown = new_countdown = 0;
  if (mode != Mode::every) return;
  __atomic_store_n(&plain_bytes, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&plain_deleted_bytes, 0, __ATOMIC_SEQ_CST);
}
}  // namespace nearfar::run

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t size) noexcept {
  NEARFAR_SERVE(size, countdown, mode == Mode::every,
                allocate_at_countdown_end(size, 0, NEARFAR_THIS_CALL), nullptr)
}

void free(void* block) noexcept { give_back(block); }

void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(bytes, MALLOCX_ZERO, NEARFAR_THIS_CALL);
}

void* realloc(void* block, std::size_t size) noexcept {
  return resize(block, size, NEARFAR_THIS_CALL);
}

void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resize(block, bytes, NEARFAR_THIS_CALL);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* allocated = allocate(size, MALLOCX_ALIGN(alignment), NEARFAR_THIS_CALL);
  errno = error;
  if (allocated == nullptr) return ENOMEM;
  *block = allocated;
  return 0;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate(size, MALLOCX_ALIGN(alignment), NEARFAR_THIS_CALL);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  // As glibc: round up to a power of two.
  std::size_t power = sizeof(void*);
  while (power < alignment && power << 1 != 0) power <<= 1;
  return allocate(size, MALLOCX_ALIGN(power), NEARFAR_THIS_CALL);
}

void* valloc(std::size_t size) noexcept {
  return allocate(size, MALLOCX_ALIGN(page_bytes), NEARFAR_THIS_CALL);
}

void* pvalloc(std::size_t size) noexcept {
  const std::size_t whole = (size + page_bytes - 1) / page_bytes * page_bytes;
  if (whole < size) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(whole, MALLOCX_ALIGN(page_bytes), NEARFAR_THIS_CALL);
}

std::size_t malloc_usable_size(void* block) noexcept {
  if (__builtin_expect(in_near_heap(block), 1)) return je_malloc_usable_size(block);
  if (block == nullptr) return 0;
  return is_ours(block) ? usable_size(block) : foreign_usable_size(block);
}
}

// Through the C++ library's operators, all blocks would come from one call of malloc, and only
// their stacks could decide. Operators for alignments stay the library's: they are a set of theirs.
void* operator new(std::size_t size) { NEARFAR_NEW(size, new_plain) }
void* operator new[](std::size_t size) { NEARFAR_NEW(size, new_array) }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  NEARFAR_NEW(size, new_nothrow)
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  NEARFAR_NEW(size, new_array_nothrow)
}
void operator delete(void* block) noexcept { delete_block(block, 0, delete_plain); }
void operator delete(void* block, std::size_t size) noexcept {
  delete_block(block, size, delete_sized);
}
void operator delete(void* block, const std::nothrow_t& tag) noexcept {
  delete_block(block, reinterpret_cast<std::size_t>(&tag), delete_nothrow);
}
void operator delete[](void* block) noexcept { delete_block(block, 0, delete_array); }
void operator delete[](void* block, std::size_t size) noexcept {
  delete_block(block, size, delete_array_sized);
}
void operator delete[](void* block, const std::nothrow_t& tag) noexcept {
  delete_block(block, reinterpret_cast<std::size_t>(&tag), delete_array_nothrow);
}
#pragma GCC visibility pop
