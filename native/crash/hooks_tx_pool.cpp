// Pools of libpmemobj: layout, root, and iteration over all objects.
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/hooks_tx.hpp"

using namespace nearfar::crash;

namespace {

// PMEMOBJ_MAX_LAYOUT, and the offset of the layout's name in a pool: behind the header page.
constexpr std::size_t max_layout = 1024;
constexpr off_t layout_offset = NF_CRASH_PAGE;

bool is_pool_path(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool result = is_pool(file);
  close(file);
  return result;
}

// Pools that could not be opened are also recorded; they have no mapping.
void record_open(const char* path, const char* layout, bool created, bool succeeded,
                 const Stack& stack) {
  if (header() == nullptr || path == nullptr || !is_pool_path(path)) return;
  char payload[2 * max_layout] = {};
  const std::size_t requested_bytes = layout == nullptr ? 0 : strnlen(layout, max_layout - 1);
  if (requested_bytes != 0) memcpy(payload, layout, requested_bytes);
  char* const file_layout = payload + requested_bytes + 1;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (syscall(SYS_pread64, file, file_layout, max_layout - 1, layout_offset) < 0)
      *file_layout = '\0';
    close(file);
  }
  const std::size_t bytes = requested_bytes + 1 + strnlen(file_layout, max_layout - 1) + 1;
  Lock const lock;
  append(created ? NF_CRASH_POOL_CREATE : NF_CRASH_POOL_OPEN, 0, 0, &stack, payload,
         static_cast<std::uint32_t>(bytes), succeeded ? 0 : 1);
}

std::uint64_t root_size(void* pool) {
  NEARFAR_NEXT_AS(std::size_t(*)(void*), pmemobj_root_size);
  return real == nullptr ? 0 : real(pool);
}

void record_root(Oid root, std::size_t bytes, std::uint64_t before, const Stack& stack) {
  if (root.offset == 0 || !recording()) return;
  const std::uint64_t offset = offset_of(root);
  if (offset != outside_pool) {
    record_event(NF_CRASH_ROOT, offset, bytes, stack, 0, &before, sizeof before);
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* pmemobj_open(const char* path, const char* layout) {
  NEARFAR_NEXT(pmemobj_open);
  void* const pool = real(path, layout);
  record_open(path, layout, false, pool != nullptr, NEARFAR_CRASH_STACK);
  return pool;
}

void* pmemobj_create(const char* path, const char* layout, std::size_t bytes, mode_t mode) {
  NEARFAR_NEXT(pmemobj_create);
  void* const pool = real(path, layout, bytes, mode);
  record_open(path, layout, true, pool != nullptr, NEARFAR_CRASH_STACK);
  return pool;
}

Oid pmemobj_root(void* pool, std::size_t bytes) {
  NEARFAR_NEXT(pmemobj_root);
  const std::uint64_t before = root_size(pool);
  const Oid root = real(pool, bytes);
  record_root(root, bytes, before, NEARFAR_CRASH_STACK);
  return root;
}

Oid pmemobj_root_construct(void* pool, std::size_t bytes, void* constructor, void* argument) {
  NEARFAR_NEXT(pmemobj_root_construct);
  const std::uint64_t before = root_size(pool);
  const Oid root = real(pool, bytes, constructor, argument);
  record_root(root, bytes, before, NEARFAR_CRASH_STACK);
  return root;
}

Oid pmemobj_first(void* pool) {
  NEARFAR_NEXT(pmemobj_first);
  record_event(NF_CRASH_WALK, 0, 0, NEARFAR_CRASH_STACK);
  return real(pool);
}
}
#pragma GCC visibility pop
