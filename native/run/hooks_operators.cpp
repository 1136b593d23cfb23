// The operators of C++.
#include <stdlib.h>

#include <new>

#include "run/blocks.hpp"
#include "run/operators.hpp"

using nearfar::profile::Call;
using namespace nearfar::run;

namespace {

// Whether the operators serve and operator new was called while the library was active.
bool operators_serve_active = false;

// A separate definition, because std::nothrow would need a C++ library.
constexpr std::nothrow_t no_throw{};
using New = void* (*)(std::size_t, const std::nothrow_t*);

// Calls the C++ library's operator, which calls the new-handlers. Without such a library, nothing
// can be thrown.
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
    this_thread.new_countdown = 0;
    return replaced(size, &no_throw);
  }
  void* block = allocate_at_countdown_end(this_thread.new_countdown, size, 0, call);
  __atomic_store_n(&operators_serve_active, active, __ATOMIC_RELAXED);
  return block == nullptr ? new_without_memory(size, form, call) : block;
}

[[gnu::noinline]] void* new_recognised(std::size_t size, Operator form, Call call) {
  void* block = active ? allocate_recognised(size, 0, call) : je_malloc(size);
  return block == nullptr ? new_without_memory(size, form, call) : block;
}

// The operators are looked up early, because later a thread that holds the linker's lock might be
// waited for.
__attribute__((constructor(102))) void look_up_operators() { replaced_operator(new_plain); }

inline bool serves_active() { return __atomic_load_n(&operators_serve_active, __ATOMIC_RELAXED); }

#define NEARFAR_NEW(size, form)                                                               \
  NEARFAR_SERVE(                                                                              \
      size, this_thread.new_countdown, serves_active(),                                       \
      if (void* near = je_malloc(size); __builtin_expect(near != nullptr, 1)) return near,    \
      if (void* far = far_heap_malloc(size); __builtin_expect(far != nullptr, 1)) return far, \
      new_at_countdown_end(size, form, NEARFAR_THIS_CALL),                                    \
      new_recognised(size, form, NEARFAR_THIS_CALL))

[[gnu::noinline]] void delete_checked(void* block, std::size_t second, Operator form) {
  using Delete = void (*)(void*, std::size_t);
  if (!__atomic_load_n(&operators_served, __ATOMIC_RELAXED)) {
    const auto replaced = reinterpret_cast<Delete>(replaced_operator(form));
    if (replaced != nullptr) return replaced(block, second);
  }
  const std::uint64_t bytes = __atomic_load_n(&plain_bytes, __ATOMIC_SEQ_CST);
  if (bytes != 0 && __atomic_load_n(&plain_deleted_bytes, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&plain_deleted_bytes, bytes, __ATOMIC_SEQ_CST);
    // Another thread may have activated the library in the meantime.
    if (__atomic_load_n(&plain_bytes, __ATOMIC_SEQ_CST) == 0) {
      __atomic_store_n(&plain_deleted_bytes, 0, __ATOMIC_SEQ_CST);
    }
  }
  free_block(block);
}

// `second` is a size, or a tag's address: forms without a second parameter ignore it.
inline void delete_block(void* block, std::size_t second, Operator form) {
  const std::uint64_t bytes = __atomic_load_n(&plain_deleted_bytes, __ATOMIC_RELAXED);
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(block) - first_address;
  if (__builtin_expect(offset < bytes, 1)) {
    je_free(block);
  } else if (__builtin_expect(serves_active(), 1)) {
    free_placed(block, offset);
  } else {
    delete_checked(block, second, form);
  }
}

}  // namespace

#pragma GCC visibility push(default)
// If blocks were allocated through the C++ library's operators, all would come from one call of
// malloc, and only their stacks could decide. Operators with alignments remain the C++ library's:
// they form a set of their own.
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
