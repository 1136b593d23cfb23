// Stores into the pool's file by system calls while it is mapped. Their changes appear in memory
// like those of any store, and become durable by a flush or fsync.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

using namespace nearfar::crash;

namespace {

// stdio writes by internal calls that cannot be interposed, at unknown times. After calls that may
// have written, the whole file is compared.
void record_whole_file(const Stack& stack) {
  struct stat status {};
  const int error = errno;
  const char* const path = getenv(NF_CRASH_POOL);
  const int readable = open(path, O_RDONLY | O_CLOEXEC);
  if (readable >= 0 && fstat(readable, &status) == 0) {
    record_file_write(readable, 0, static_cast<std::uint64_t>(status.st_size), stack);
  }
  if (readable >= 0) close(readable);
  errno = error;
}

bool is_pool(FILE* file) {
  return file != nullptr && recording() && nearfar::crash::is_pool(fileno(file));
}

// `offset`: start of the write, or -1 if the write ended at the file's current position.
ssize_t record_write(int file, ssize_t result, off_t offset, const Stack& stack) {
  if (result <= 0) return result;
  const int error = errno;
  if (offset < 0) offset = lseek(file, 0, SEEK_CUR) - result;
  if (offset >= 0) {
    record_file_write(file, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(result),
                      stack);
  }
  errno = error;
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Records the write of a system call at `offset`; if that is -1, the write ended at the file's
// position.
#define NEARFAR_WRITE(offset, ...)                   \
  const ssize_t result = syscall(__VA_ARGS__);       \
  if (!recording() || !is_pool(file)) return result; \
  return record_write(file, result, offset, NEARFAR_CRASH_STACK)

ssize_t write(int file, const void* from, std::size_t bytes) {
  NEARFAR_WRITE(-1, SYS_write, file, from, bytes);
}
ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  NEARFAR_WRITE(offset, SYS_pwrite64, file, from, bytes, offset);
}
// off_t has 64 bits here, so both names are the same function.
ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t offset) {
  NEARFAR_WRITE(offset, SYS_pwrite64, file, from, bytes, offset);
}

ssize_t writev(int file, const iovec* pieces, int count) {
  NEARFAR_WRITE(-1, SYS_writev, file, pieces, count);
}
ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  NEARFAR_WRITE(offset, SYS_pwritev, file, pieces, count, offset, 0L);
}
ssize_t pwritev64(int file, const iovec* pieces, int count, off64_t offset) {
  NEARFAR_WRITE(offset, SYS_pwritev, file, pieces, count, offset, 0L);
}
// An offset of -1 means the file's position, as in the kernel.
ssize_t pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags) {
  NEARFAR_WRITE(offset, SYS_pwritev2, file, pieces, count, offset, 0L, flags);
}
ssize_t pwritev64v2(int file, const iovec* pieces, int count, off64_t offset, int flags) {
  NEARFAR_WRITE(offset, SYS_pwritev2, file, pieces, count, offset, 0L, flags);
}

ssize_t sendfile(int file, int from, off_t* offset, std::size_t bytes) noexcept {
  NEARFAR_WRITE(-1, SYS_sendfile, file, from, offset, bytes);
}
ssize_t sendfile64(int file, int from, off64_t* offset, std::size_t bytes) noexcept {
  NEARFAR_WRITE(-1, SYS_sendfile, file, from, offset, bytes);
}

ssize_t copy_file_range(int from, off64_t* begin, int file, off64_t* offset, std::size_t bytes,
                        unsigned flags) {
  // The kernel has advanced the offset by the number of copied bytes.
  NEARFAR_WRITE(offset == nullptr || result < 0 ? -1 : *offset - result, SYS_copy_file_range, from,
                begin, file, offset, bytes, flags);
}

std::size_t fwrite(const void* from, std::size_t size, std::size_t count, FILE* file) {
  NEARFAR_NEXT(fwrite);
  const std::size_t result = real(from, size, count, file);
  if (is_pool(file)) record_whole_file(NEARFAR_CRASH_STACK);
  return result;
}

int fflush(FILE* file) {
  NEARFAR_NEXT(fflush);
  const int result = real(file);
  if (is_pool(file)) record_whole_file(NEARFAR_CRASH_STACK);
  return result;
}

int fclose(FILE* file) {
  NEARFAR_NEXT(fclose);
  const bool ours = is_pool(file);
  const int result = real(file);
  if (ours) record_whole_file(NEARFAR_CRASH_STACK);
  return result;
}
}
#pragma GCC visibility pop
