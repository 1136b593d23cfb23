// mmap and related functions.
#include <errno.h>
#include <stdio.h>

#include "base/hooks.hpp"
#include "profile/runtime/hooks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/stack_walk.hpp"

using namespace nearfar::profile;

namespace {

// Writes the path of the open `file`; returns false if it is unknown.
bool path_of(int file, char (&path)[4096]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  return length > 0;
}

void* map(void* wanted, size_t size, int protection, int flags, int file, off_t offset) {
  need_real_functions();
  if (may_map(size, protection != PROT_NONE)) {
    return real.mmap(wanted, size, protection, flags, file, offset);
  }
  errno = ENOMEM;
  return MAP_FAILED;
}

void* report_mapping(void* address, size_t size, int protection, int flags, int file, off_t offset,
                     Call call) {
  if (address == MAP_FAILED || !active()) return address;
  const int error = errno;
  char path[4096];
  nf_settle_accesses();
  const bool named = (flags & MAP_ANONYMOUS) == 0 && path_of(file, path);
  range_mapped(reinterpret_cast<std::uint64_t>(address), size, protection != PROT_NONE,
               named ? path : nullptr, static_cast<std::uint64_t>(offset), call);
  errno = error;
  return address;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

NEARFAR_HOOK_MMAP(return report_mapping(map(wanted, bytes, protection, flags, file, offset), bytes,
                                        protection, flags, file, offset, NEARFAR_THIS_CALL);)

int munmap(void* address, size_t size) noexcept {
  need_real_functions();
  if (active()) {
    nf_settle_accesses();
    range_unmapped(reinterpret_cast<std::uint64_t>(address), size);
  }
  return real.munmap(address, size);
}

void* mremap(void* address, size_t old_size, size_t new_size, int flags, ...) noexcept {
  need_real_functions();
  NEARFAR_MREMAP_PLACE(wanted, flags)
  void* moved = real.mremap(address, old_size, new_size, flags, wanted);
  if (active() && moved != MAP_FAILED) {
    const int error = errno;
    nf_settle_accesses();
    range_moved(reinterpret_cast<std::uint64_t>(address), old_size,
                reinterpret_cast<std::uint64_t>(moved), new_size);
    errno = error;
  }
  return moved;
}

int mprotect(void* address, size_t size, int protection) noexcept {
  need_real_functions();
  const int result = real.mprotect(address, size, protection);
  if (active() && result == 0 && protection != PROT_NONE) {
    range_accessible(reinterpret_cast<std::uint64_t>(address), size);
  }
  return result;
}

// mlockall would allocate the shadow of the whole address space, so pages are locked only when they
// are touched.
int mlockall(int flags) noexcept {
  need_real_functions();
  return real.mlockall(active() ? flags | MCL_ONFAULT : flags);
}
}
#pragma GCC visibility pop
