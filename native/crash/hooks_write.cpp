// Stores into the pool's file by system calls while it is mapped: what they changed is in memory
// like any other store, and durable when a flush or fsync has covered it.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "crash/recorder.hpp"

using namespace nearfar::crash;

namespace {

// `offset` where it was written, or -1: at the file's position, which is behind it now.
ssize_t told(int file, ssize_t result, off_t offset, const Stack& stack) {
  if (result <= 0) return result;
  const int error = errno;
  if (offset < 0) offset = lseek(file, 0, SEEK_CUR) - result;
  if (offset >= 0) {
    written(file, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(result), stack);
  }
  errno = error;
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t write(int file, const void* from, std::size_t bytes) {
  const ssize_t result = syscall(SYS_write, file, from, bytes);
  if (!recording() || !is_pool(file)) return result;
  return told(file, result, -1, NEARFAR_CRASH_STACK);
}

ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  const ssize_t result = syscall(SYS_pwrite64, file, from, bytes, offset);
  if (!recording() || !is_pool(file)) return result;
  return told(file, result, offset, NEARFAR_CRASH_STACK);
}

// off_t has 64 bits here, so both names are one function.
ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t offset) {
  const ssize_t result = syscall(SYS_pwrite64, file, from, bytes, offset);
  if (!recording() || !is_pool(file)) return result;
  return told(file, result, offset, NEARFAR_CRASH_STACK);
}

ssize_t writev(int file, const iovec* pieces, int count) {
  const ssize_t result = syscall(SYS_writev, file, pieces, count);
  if (!recording() || !is_pool(file)) return result;
  return told(file, result, -1, NEARFAR_CRASH_STACK);
}

ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  const ssize_t result = syscall(SYS_pwritev, file, pieces, count, offset, 0L);
  if (!recording() || !is_pool(file)) return result;
  return told(file, result, offset, NEARFAR_CRASH_STACK);
}
}
#pragma GCC visibility pop
