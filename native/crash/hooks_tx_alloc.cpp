// Allocations of libpmemobj: its objects and their types.
#include <string.h>
#include <wchar.h>

#include "crash/hooks_tx.hpp"

using namespace nearfar::crash;

namespace {

void record_alloc(Oid object, std::size_t bytes, std::uint64_t type, nf_crash_kind kind,
                  const Stack& stack) {
  if (object.offset == 0 || !recording()) return;
  const std::uint64_t offset = offset_of(object);
  if (offset != outside_pool) record_event(kind, offset, bytes, stack, 0, &type, sizeof type);
}

void record_free(Oid object, nf_crash_kind kind, const Stack& stack) {
  if (object.offset == 0 || !recording()) return;
  const std::uint64_t offset = offset_of(object);
  if (offset != outside_pool) record_event(kind, offset, 0, stack);
}

Oid record_move(Oid before, Oid after, std::size_t bytes, std::uint64_t type, bool in_tx,
                const Stack& stack) {
  if (after.offset != before.offset && (after.offset != 0 || bytes == 0)) {
    record_free(before, in_tx ? NF_CRASH_TX_FREE : NF_CRASH_FREE, stack);
  }
  record_alloc(after, bytes, type, in_tx ? NF_CRASH_TX_ALLOC : NF_CRASH_ALLOC, stack);
  return after;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define NEARFAR_TX_ALLOC(name)                                                    \
  Oid name(std::size_t bytes, std::uint64_t type) {                               \
    NEARFAR_NEXT(name);                                                           \
    const Oid object_id = real(bytes, type);                                      \
    record_alloc(object_id, bytes, type, NF_CRASH_TX_ALLOC, NEARFAR_CRASH_STACK); \
    return object_id;                                                             \
  }
NEARFAR_TX_ALLOC(pmemobj_tx_alloc)
NEARFAR_TX_ALLOC(pmemobj_tx_zalloc)

Oid pmemobj_tx_xalloc(std::size_t bytes, std::uint64_t type, std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_tx_xalloc);
  const Oid object_id = real(bytes, type, flags);
  record_alloc(object_id, bytes, type, NF_CRASH_TX_ALLOC, NEARFAR_CRASH_STACK);
  return object_id;
}

#define NEARFAR_TX_REALLOC(name)                                                                   \
  Oid name(Oid before, std::size_t bytes, std::uint64_t type) {                                    \
    NEARFAR_NEXT(name);                                                                            \
    return record_move(before, real(before, bytes, type), bytes, type, true, NEARFAR_CRASH_STACK); \
  }
NEARFAR_TX_REALLOC(pmemobj_tx_realloc)
NEARFAR_TX_REALLOC(pmemobj_tx_zrealloc)

Oid pmemobj_tx_strdup(const char* text, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_tx_strdup);
  const Oid object_id = real(text, type);
  if (object_id.offset != 0) {
    record_alloc(object_id, strlen(text) + 1, type, NF_CRASH_TX_ALLOC, NEARFAR_CRASH_STACK);
  }
  return object_id;
}

int pmemobj_tx_free(Oid object) {
  NEARFAR_NEXT(pmemobj_tx_free);
  record_free(object, NF_CRASH_TX_FREE, NEARFAR_CRASH_STACK);
  return real(object);
}

int pmemobj_tx_xfree(Oid object, std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_tx_xfree);
  record_free(object, NF_CRASH_TX_FREE, NEARFAR_CRASH_STACK);
  return real(object, flags);
}

// Without an object pointer the new object is unknown.
int pmemobj_alloc(void* pool, Oid* object, std::size_t bytes, std::uint64_t type, void* constructor,
                  void* argument) {
  NEARFAR_NEXT(pmemobj_alloc);
  const int error = real(pool, object, bytes, type, constructor, argument);
  if (error == 0 && object != nullptr) {
    record_alloc(*object, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

int pmemobj_xalloc(void* pool, Oid* object, std::size_t bytes, std::uint64_t type,
                   std::uint64_t flags, void* constructor, void* argument) {
  NEARFAR_NEXT(pmemobj_xalloc);
  const int error = real(pool, object, bytes, type, flags, constructor, argument);
  if (error == 0 && object != nullptr) {
    record_alloc(*object, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

int pmemobj_zalloc(void* pool, Oid* object, std::size_t bytes, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_zalloc);
  const int error = real(pool, object, bytes, type);
  if (error == 0 && object != nullptr) {
    record_alloc(*object, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

#define NEARFAR_REALLOC(name)                                                              \
  int name(void* pool, Oid* object, std::size_t bytes, std::uint64_t type) {               \
    NEARFAR_NEXT(name);                                                                    \
    const Oid before = *object;                                                            \
    const int error = real(pool, object, bytes, type);                                     \
    if (error == 0) record_move(before, *object, bytes, type, false, NEARFAR_CRASH_STACK); \
    return error;                                                                          \
  }
NEARFAR_REALLOC(pmemobj_realloc)
NEARFAR_REALLOC(pmemobj_zrealloc)

int pmemobj_strdup(void* pool, Oid* object, const char* text, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_strdup);
  const int error = real(pool, object, text, type);
  if (error == 0 && object != nullptr) {
    record_alloc(*object, strlen(text) + 1, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

void pmemobj_free(Oid* object) {
  NEARFAR_NEXT(pmemobj_free);
  record_free(*object, NF_CRASH_FREE, NEARFAR_CRASH_STACK);
  real(object);
}

Oid pmemobj_reserve(void* pool, void* action, std::size_t bytes, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_reserve);
  const Oid object_id = real(pool, action, bytes, type);
  record_alloc(object_id, bytes, type, NF_CRASH_RESERVE, NEARFAR_CRASH_STACK);
  return object_id;
}

Oid pmemobj_xreserve(void* pool, void* action, std::size_t bytes, std::uint64_t type,
                     std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_xreserve);
  const Oid object_id = real(pool, action, bytes, type, flags);
  record_alloc(object_id, bytes, type, NF_CRASH_RESERVE, NEARFAR_CRASH_STACK);
  return object_id;
}

Oid pmemobj_list_insert_new(void* pool, std::size_t entry, void* head, Oid where, int before,
                            std::size_t bytes, std::uint64_t type, void* constructor,
                            void* argument) {
  NEARFAR_NEXT(pmemobj_list_insert_new);
  const Oid object_id = real(pool, entry, head, where, before, bytes, type, constructor, argument);
  record_alloc(object_id, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  return object_id;
}

int pmemobj_list_remove(void* pool, std::size_t entry, void* head, Oid object, int frees) {
  NEARFAR_NEXT(pmemobj_list_remove);
  if (frees != 0) record_free(object, NF_CRASH_FREE, NEARFAR_CRASH_STACK);
  return real(pool, entry, head, object, frees);
}
}
#pragma GCC visibility pop
