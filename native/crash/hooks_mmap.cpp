// System calls on the pool: mapping, unmapping, protection, synchronisation.
#include <errno.h>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

using namespace nearfar::crash;
using namespace nearfar::hooks;

namespace {

void* map_and_record(void* wanted, std::size_t bytes, int protection, int flags, int file,
                     off_t offset) {
  const bool has_trace = header() != nullptr;
  if (has_trace && (flags & MAP_FIXED) != 0 && recording()) {
    Lock const lock;
    pool_unmapping(wanted, bytes);
  }
  void* const result = system_mmap(wanted, bytes, protection, flags, file, offset);
  if (!has_trace || result == MAP_FAILED || file < 0 || (flags & MAP_ANONYMOUS) != 0) return result;
  const int error = errno;
  if ((protection & PROT_WRITE) != 0 && is_pool(file)) {
    Lock const lock;
    if ((flags & MAP_TYPE) == MAP_PRIVATE) {
      header()->copied += 1;
    } else {
      pool_mapped(result, bytes, file, static_cast<std::uint64_t>(offset));
    }
  }
  errno = error;
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

NEARFAR_HOOK_MMAP(return map_and_record(wanted, bytes, protection, flags, file, offset);)

int munmap(void* begin, std::size_t bytes) noexcept {
  if (recording()) {
    Lock const lock;
    if (recording()) pool_unmapping(begin, bytes);
  }
  return system_munmap(begin, bytes);
}

void* mremap(void* begin, std::size_t bytes, std::size_t wanted, int flags, ...) noexcept {
  NEARFAR_MREMAP_PLACE(place, flags)
  if (!recording()) return system_mremap(begin, bytes, wanted, flags, place);
  Lock const lock;
  const bool in_pool = mapping_of(begin) != nullptr;
  if (in_pool) record_pending();
  if (place != nullptr) pool_unmapping(place, wanted);
  void* const result = system_mremap(begin, bytes, wanted, flags, place);
  const int error = errno;
  if (in_pool && result != MAP_FAILED) remapped(begin, result, wanted);
  errno = error;
  return result;
}

// A recorded pool stays write-protected, whatever the program requests.
int mprotect(void* begin, std::size_t bytes, int protection) noexcept {
  const bool in_pool = recording() && mapping_of(begin) != nullptr;
  return static_cast<int>(
      syscall(SYS_mprotect, begin, bytes, in_pool ? protection & ~PROT_WRITE : protection));
}

int msync(void* begin, std::size_t bytes, int flags) {
  const int result = static_cast<int>(syscall(SYS_msync, begin, bytes, flags));
  if (recording() && result == 0 && (flags & MS_SYNC) != 0) {
    const Stack stack = NEARFAR_CRASH_STACK;
    record_flush(begin, bytes, stack);
    record_fence(stack);
  }
  return result;
}

#define NEARFAR_HOOK_SYNC(name)                                     \
  int name(int file) {                                              \
    const int result = static_cast<int>(syscall(SYS_##name, file)); \
    if (recording() && result == 0 && is_pool(file)) {              \
      const Stack stack = NEARFAR_CRASH_STACK;                      \
      record_flush_all(stack);                                      \
      record_fence(stack);                                          \
    }                                                               \
    return result;                                                  \
  }
NEARFAR_HOOK_SYNC(fsync)
NEARFAR_HOOK_SYNC(fdatasync)
}
#pragma GCC visibility pop
