// libpmemobj's allocations: which objects there are, and what they are of.
#include <string.h>
#include <wchar.h>

#include "crash/hooks_tx.hpp"

using namespace nearfar::crash;

namespace {

void allocated(Oid object, std::size_t bytes, std::uint64_t type, nf_crash_kind how,
               const Stack& stack) {
  if (object.offset == 0 || !recording()) return;
  const std::uint64_t offset = offset_of(object);
  if (offset != elsewhere) tell(how, offset, bytes, stack, 0, &type, sizeof type);
}

void freed(Oid object, nf_crash_kind how, const Stack& stack) {
  if (object.offset == 0 || !recording()) return;
  const std::uint64_t offset = offset_of(object);
  if (offset != elsewhere) tell(how, offset, 0, stack);
}

Oid moved(Oid before, Oid after, std::size_t bytes, std::uint64_t type, bool in_tx,
          const Stack& stack) {
  if (after.offset != before.offset && (after.offset != 0 || bytes == 0)) {
    freed(before, in_tx ? NF_CRASH_TX_FREE : NF_CRASH_FREE, stack);
  }
  allocated(after, bytes, type, in_tx ? NF_CRASH_TX_ALLOC : NF_CRASH_ALLOC, stack);
  return after;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define NEARFAR_TX_ALLOC(name)                                            \
  Oid name(std::size_t bytes, std::uint64_t type) {                       \
    NEARFAR_NEXT(name);                                                   \
    const Oid made = real(bytes, type);                                   \
    allocated(made, bytes, type, NF_CRASH_TX_ALLOC, NEARFAR_CRASH_STACK); \
    return made;                                                          \
  }
NEARFAR_TX_ALLOC(pmemobj_tx_alloc)
NEARFAR_TX_ALLOC(pmemobj_tx_zalloc)

Oid pmemobj_tx_xalloc(std::size_t bytes, std::uint64_t type, std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_tx_xalloc);
  const Oid made = real(bytes, type, flags);
  allocated(made, bytes, type, NF_CRASH_TX_ALLOC, NEARFAR_CRASH_STACK);
  return made;
}

#define NEARFAR_TX_REALLOC(name)                                                             \
  Oid name(Oid before, std::size_t bytes, std::uint64_t type) {                              \
    NEARFAR_NEXT(name);                                                                      \
    return moved(before, real(before, bytes, type), bytes, type, true, NEARFAR_CRASH_STACK); \
  }
NEARFAR_TX_REALLOC(pmemobj_tx_realloc)
NEARFAR_TX_REALLOC(pmemobj_tx_zrealloc)

Oid pmemobj_tx_strdup(const char* text, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_tx_strdup);
  const Oid made = real(text, type);
  if (made.offset != 0) {
    allocated(made, strlen(text) + 1, type, NF_CRASH_TX_ALLOC, NEARFAR_CRASH_STACK);
  }
  return made;
}

int pmemobj_tx_free(Oid object) {
  NEARFAR_NEXT(pmemobj_tx_free);
  freed(object, NF_CRASH_TX_FREE, NEARFAR_CRASH_STACK);
  return real(object);
}

int pmemobj_tx_xfree(Oid object, std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_tx_xfree);
  freed(object, NF_CRASH_TX_FREE, NEARFAR_CRASH_STACK);
  return real(object, flags);
}

// Where nobody asks for the object it is not known which one it is.
int pmemobj_alloc(void* pool, Oid* object, std::size_t bytes, std::uint64_t type, void* constructor,
                  void* argument) {
  NEARFAR_NEXT(pmemobj_alloc);
  const int error = real(pool, object, bytes, type, constructor, argument);
  if (error == 0 && object != nullptr) {
    allocated(*object, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

int pmemobj_xalloc(void* pool, Oid* object, std::size_t bytes, std::uint64_t type,
                   std::uint64_t flags, void* constructor, void* argument) {
  NEARFAR_NEXT(pmemobj_xalloc);
  const int error = real(pool, object, bytes, type, flags, constructor, argument);
  if (error == 0 && object != nullptr) {
    allocated(*object, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

int pmemobj_zalloc(void* pool, Oid* object, std::size_t bytes, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_zalloc);
  const int error = real(pool, object, bytes, type);
  if (error == 0 && object != nullptr) {
    allocated(*object, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

#define NEARFAR_REALLOC(name)                                                        \
  int name(void* pool, Oid* object, std::size_t bytes, std::uint64_t type) {         \
    NEARFAR_NEXT(name);                                                              \
    const Oid before = *object;                                                      \
    const int error = real(pool, object, bytes, type);                               \
    if (error == 0) moved(before, *object, bytes, type, false, NEARFAR_CRASH_STACK); \
    return error;                                                                    \
  }
NEARFAR_REALLOC(pmemobj_realloc)
NEARFAR_REALLOC(pmemobj_zrealloc)

int pmemobj_strdup(void* pool, Oid* object, const char* text, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_strdup);
  const int error = real(pool, object, text, type);
  if (error == 0 && object != nullptr) {
    allocated(*object, strlen(text) + 1, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  }
  return error;
}

void pmemobj_free(Oid* object) {
  NEARFAR_NEXT(pmemobj_free);
  freed(*object, NF_CRASH_FREE, NEARFAR_CRASH_STACK);
  real(object);
}

Oid pmemobj_reserve(void* pool, void* action, std::size_t bytes, std::uint64_t type) {
  NEARFAR_NEXT(pmemobj_reserve);
  const Oid made = real(pool, action, bytes, type);
  allocated(made, bytes, type, NF_CRASH_RESERVE, NEARFAR_CRASH_STACK);
  return made;
}

Oid pmemobj_xreserve(void* pool, void* action, std::size_t bytes, std::uint64_t type,
                     std::uint64_t flags) {
  NEARFAR_NEXT(pmemobj_xreserve);
  const Oid made = real(pool, action, bytes, type, flags);
  allocated(made, bytes, type, NF_CRASH_RESERVE, NEARFAR_CRASH_STACK);
  return made;
}

Oid pmemobj_list_insert_new(void* pool, std::size_t entry, void* head, Oid where, int before,
                            std::size_t bytes, std::uint64_t type, void* constructor,
                            void* argument) {
  NEARFAR_NEXT(pmemobj_list_insert_new);
  const Oid made = real(pool, entry, head, where, before, bytes, type, constructor, argument);
  allocated(made, bytes, type, NF_CRASH_ALLOC, NEARFAR_CRASH_STACK);
  return made;
}

int pmemobj_list_remove(void* pool, std::size_t entry, void* head, Oid object, int frees) {
  NEARFAR_NEXT(pmemobj_list_remove);
  if (frees != 0) freed(object, NF_CRASH_FREE, NEARFAR_CRASH_STACK);
  return real(pool, entry, head, object, frees);
}
}
#pragma GCC visibility pop
