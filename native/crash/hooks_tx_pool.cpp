// libpmemobj's pools: their layout, their root, and who looks at all objects.
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/hooks_tx.hpp"

using namespace nearfar::crash;

namespace {

// PMEMOBJ_MAX_LAYOUT and where a pool keeps it: behind its header of a page.
constexpr std::size_t most_layout = 1024;
constexpr off_t layout_at = NF_CRASH_PAGE;

bool is_pool_path(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is = is_pool(file);
  close(file);
  return is;
}

// Also told of a pool that could not be opened, which nothing has mapped: by no name of ours.
void opened(const char* path, const char* layout, bool made, bool worked, const Stack& stack) {
  if (header() == nullptr || path == nullptr || !is_pool_path(path)) return;
  char both[2 * most_layout] = {};
  const std::size_t asked = layout == nullptr ? 0 : strnlen(layout, most_layout - 1);
  if (asked != 0) memcpy(both, layout, asked);
  char* const held = both + asked + 1;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (syscall(SYS_pread64, file, held, most_layout - 1, layout_at) < 0) *held = '\0';
    close(file);
  }
  const std::size_t bytes = asked + 1 + strnlen(held, most_layout - 1) + 1;
  Lock const lock;
  append(made ? NF_CRASH_POOL_CREATE : NF_CRASH_POOL_OPEN, 0, 0, &stack, both,
         static_cast<std::uint32_t>(bytes), worked ? 0 : 1);
}

std::uint64_t root_size(void* pool) {
  NEARFAR_NEXT_AS(std::size_t(*)(void*), pmemobj_root_size);
  return real == nullptr ? 0 : real(pool);
}

void rooted(Oid root, std::size_t bytes, std::uint64_t before, const Stack& stack) {
  if (root.offset == 0 || !recording()) return;
  const std::uint64_t offset = offset_of(root);
  if (offset != elsewhere) {
    tell(NF_CRASH_ROOT, offset, bytes, stack, 0, &before, sizeof before);
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* pmemobj_open(const char* path, const char* layout) {
  NEARFAR_NEXT(pmemobj_open);
  void* const pool = real(path, layout);
  opened(path, layout, false, pool != nullptr, NEARFAR_CRASH_STACK);
  return pool;
}

void* pmemobj_create(const char* path, const char* layout, std::size_t bytes, mode_t mode) {
  NEARFAR_NEXT(pmemobj_create);
  void* const pool = real(path, layout, bytes, mode);
  opened(path, layout, true, pool != nullptr, NEARFAR_CRASH_STACK);
  return pool;
}

Oid pmemobj_root(void* pool, std::size_t bytes) {
  NEARFAR_NEXT(pmemobj_root);
  const std::uint64_t before = root_size(pool);
  const Oid root = real(pool, bytes);
  rooted(root, bytes, before, NEARFAR_CRASH_STACK);
  return root;
}

Oid pmemobj_root_construct(void* pool, std::size_t bytes, void* constructor, void* argument) {
  NEARFAR_NEXT(pmemobj_root_construct);
  const std::uint64_t before = root_size(pool);
  const Oid root = real(pool, bytes, constructor, argument);
  rooted(root, bytes, before, NEARFAR_CRASH_STACK);
  return root;
}

Oid pmemobj_first(void* pool) {
  NEARFAR_NEXT(pmemobj_first);
  tell(NF_CRASH_WALK, 0, 0, NEARFAR_CRASH_STACK);
  return real(pool);
}
}
#pragma GCC visibility pop
