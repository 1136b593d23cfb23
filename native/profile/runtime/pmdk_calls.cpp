#include "profile/runtime/pmdk_calls.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <cstdint>
#include <initializer_list>

#include "profile/runtime/foreign_calls.hpp"
#include "profile/runtime/persistence.hpp"
#include "profile/streams.hpp"

namespace nearfar::profile {

namespace {

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

// Returns the library's own function. A call is counted only if the library is loaded.
template <typename Function>
Function* real(Function*& known, const char* name) {
  Function* function = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (function != nullptr) return function;
  void* symbol = dlsym(RTLD_DEFAULT, name);
  for (const char* library : {"libpmem.so.1", "libpmemobj.so.1"}) {
    if (symbol != nullptr) break;
    // The library was loaded by a plugin, so it is not visible globally.
    void* file = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (file != nullptr) symbol = dlsym(file, name);
  }
  function = reinterpret_cast<Function*>(symbol);
  __atomic_store_n(&known, function, __ATOMIC_RELAXED);
  return function;
}
#define NEARFAR_REAL(name)           \
  static decltype(called_##name)* f; \
  auto* const real_function = real(f, #name)

// libpmem(7): libpmem uses clwb if the processor has it, so lines stay cached.
constexpr bool stay = true;

void called_pmem_flush(const void* address, size_t size) {
  NEARFAR_REAL(pmem_flush);
  lines_flushed(number(address), size, stay);
  real_function(address, size);
}

void called_pmem_drain() {
  NEARFAR_REAL(pmem_drain);
  fence_passed();
  real_function();
}

void called_pmem_persist(const void* address, size_t size) {
  NEARFAR_REAL(pmem_persist);
  lines_flushed(number(address), size, stay);
  fence_passed();
  real_function(address, size);
}

void called_pmem_deep_flush(const void* address, size_t size) {
  NEARFAR_REAL(pmem_deep_flush);
  lines_flushed(number(address), size, stay);
  real_function(address, size);
}

int called_pmem_deep_drain(const void* address, size_t size) {
  NEARFAR_REAL(pmem_deep_drain);
  fence_passed();
  return real_function(address, size);
}

int called_pmem_deep_persist(const void* address, size_t size) {
  NEARFAR_REAL(pmem_deep_persist);
  lines_flushed(number(address), size, stay);
  fence_passed();
  return real_function(address, size);
}

// libpmem.h: flags of pmem_memcpy and similar functions.
enum : unsigned {
  no_drain = 1u << 0,
  non_temporal = 1u << 1,
  temporal = 1u << 2,
  combining = 1u << 3,
  back = 1u << 4,
  no_flush = 1u << 5
};
// libpmem(7), PMEM_MOVNT_THRESHOLD: smallest copy that uses non-temporal stores by default.
constexpr size_t streamed_bytes = 256;

// Counts a copy in the way libpmem writes it: non-temporal stores of whole lines, ordinary stores
// at both ends.
void count_copy(const void* address, size_t size, unsigned flags) {
  if (size == 0) return;
  const std::uint64_t begin = number(address);
  const std::uint64_t end = begin + size;
  const bool streams = (flags & (non_temporal | combining)) != 0 ||
                       (size >= streamed_bytes && (flags & (temporal | back)) == 0);
  const std::uint64_t first = (begin + line_bytes - 1) & ~(line_bytes - 1);
  const std::uint64_t last = end & ~(line_bytes - 1);
  if ((flags & no_flush) != 0 || !streams || first >= last) {
    touched(address, size, true);
    if ((flags & no_flush) == 0) lines_flushed(begin, size, stay);
  } else {
    if (begin < first) {
      touched(address, first - begin, true);
      lines_flushed(begin, first - begin, stay);
    }
    bytes_streamed(first, last - first);
    if (last < end) {
      touched(reinterpret_cast<const void*>(last), end - last, true);
      lines_flushed(last, end - last, stay);
    }
  }
  if ((flags & (no_drain | no_flush)) == 0) fence_passed();
}

// Three functions per kind of copy: with flags, persistent, without the last fence.
#define NEARFAR_COPY(kind, source, reads)                                        \
  void* called_pmem_##kind(void* to, source from, size_t size, unsigned flags) { \
    NEARFAR_REAL(pmem_##kind);                                                   \
    reads;                                                                       \
    count_copy(to, size, flags);                                                 \
    return real_function(to, from, size, flags);                                 \
  }                                                                              \
  void* called_pmem_##kind##_persist(void* to, source from, size_t size) {       \
    NEARFAR_REAL(pmem_##kind##_persist);                                         \
    reads;                                                                       \
    count_copy(to, size, 0);                                                     \
    return real_function(to, from, size);                                        \
  }                                                                              \
  void* called_pmem_##kind##_nodrain(void* to, source from, size_t size) {       \
    NEARFAR_REAL(pmem_##kind##_nodrain);                                         \
    reads;                                                                       \
    count_copy(to, size, no_drain);                                              \
    return real_function(to, from, size);                                        \
  }
NEARFAR_COPY(memcpy, const void*, touched(from, size, false))
NEARFAR_COPY(memmove, const void*, touched(from, size, false))
NEARFAR_COPY(memset, int, )

// libpmemobj's PMEMoid.
struct Oid {
  std::uint64_t pool;
  std::uint64_t offset;
};
// libpmemobj/base.h: POBJ_FLAG_NO_SNAPSHOT.
constexpr std::uint64_t no_snapshot = 1u << 2;

std::uint64_t direct(Oid object) {
  using Direct = void*(Oid);
  static Direct* f;
  Direct* const real_function = real(f, "pmemobj_direct");
  // Inline in older headers, but the library exports it too.
  return real_function != nullptr ? number(real_function(object)) : 0;
}

int called_pmemobj_tx_add_range(Oid object, std::uint64_t offset, size_t size) {
  NEARFAR_REAL(pmemobj_tx_add_range);
  bytes_logged(direct(object) + offset, size);
  return real_function(object, offset, size);
}

int called_pmemobj_tx_xadd_range(Oid object, std::uint64_t offset, size_t size,
                                 std::uint64_t flags) {
  NEARFAR_REAL(pmemobj_tx_xadd_range);
  if ((flags & no_snapshot) == 0) bytes_logged(direct(object) + offset, size);
  return real_function(object, offset, size, flags);
}

int called_pmemobj_tx_add_range_direct(const void* address, size_t size) {
  NEARFAR_REAL(pmemobj_tx_add_range_direct);
  bytes_logged(number(address), size);
  return real_function(address, size);
}

int called_pmemobj_tx_xadd_range_direct(const void* address, size_t size, std::uint64_t flags) {
  NEARFAR_REAL(pmemobj_tx_xadd_range_direct);
  if ((flags & no_snapshot) == 0) bytes_logged(number(address), size);
  return real_function(address, size, flags);
}

// pmem_msync also calls it.
int called_msync(void* address, size_t size, int flags) {
  const int error = errno;
  range_synced(number(address), size);
  errno = error;
  return msync(address, size, flags);
}

struct CountingFunction {
  const char* name;
  void* function;
};

}  // namespace

void* counting_persistence(const char* name) {
#define NEARFAR_COUNTED(function) \
  { #function, reinterpret_cast<void*>(called_##function) }
  static const CountingFunction all[] = {
      NEARFAR_COUNTED(pmem_flush),
      NEARFAR_COUNTED(pmem_drain),
      NEARFAR_COUNTED(pmem_persist),
      NEARFAR_COUNTED(pmem_deep_flush),
      NEARFAR_COUNTED(pmem_deep_drain),
      NEARFAR_COUNTED(pmem_deep_persist),
      NEARFAR_COUNTED(pmem_memcpy),
      NEARFAR_COUNTED(pmem_memcpy_persist),
      NEARFAR_COUNTED(pmem_memcpy_nodrain),
      NEARFAR_COUNTED(pmem_memmove),
      NEARFAR_COUNTED(pmem_memmove_persist),
      NEARFAR_COUNTED(pmem_memmove_nodrain),
      NEARFAR_COUNTED(pmem_memset),
      NEARFAR_COUNTED(pmem_memset_persist),
      NEARFAR_COUNTED(pmem_memset_nodrain),
      NEARFAR_COUNTED(pmemobj_tx_add_range),
      NEARFAR_COUNTED(pmemobj_tx_xadd_range),
      NEARFAR_COUNTED(pmemobj_tx_add_range_direct),
      NEARFAR_COUNTED(pmemobj_tx_xadd_range_direct),
      NEARFAR_COUNTED(msync),
  };
#undef NEARFAR_COUNTED
  // Most other names differ from these in the first letter.
  if (*name != 'p' && *name != 'm') return nullptr;
  for (const CountingFunction& counting_function : all) {
    if (strcmp(counting_function.name, name) == 0) return counting_function.function;
  }
  return nullptr;
}

}  // namespace nearfar::profile
