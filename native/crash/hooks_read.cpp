// Stores by the kernel into the pool: data that a program reads or receives directly into it. On a
// protected page such a call fails instead of faulting, so the pages are opened for the call, and
// the changes are recorded afterwards.
//
// libc's own readers (fread, the checked versions of _FORTIFY_SOURCE) use internal system calls
// that cannot be interposed, so each has a hook here.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

using namespace nearfar::crash;

namespace {

// Returns the pages of a range that belong to the pool.
struct Pages {
  Mapping mapping;
  char* begin = nullptr;
  char* end = nullptr;
};

Pages pages_of(const void* address, std::size_t bytes) {
  const Mapping* mapping = bytes == 0 ? nullptr : mapping_of(address);
  if (mapping == nullptr) return {};
  const auto first = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t mask = ~std::uint64_t{NF_CRASH_PAGE - 1};
  char* const limit = mapping->begin + mapping->bytes;
  auto* const end = reinterpret_cast<char*>((first + bytes + NF_CRASH_PAGE - 1) & mask);
  return {*mapping, reinterpret_cast<char*>(first & mask), end < limit ? end : limit};
}

void open_pages(const void* address, std::size_t bytes) {
  const Pages pages = pages_of(address, bytes);
  if (pages.begin != nullptr) {
    syscall(SYS_mprotect, pages.begin, pages.end - pages.begin, PROT_READ | PROT_WRITE);
  }
}

void close_pages(const void* address, std::size_t bytes, const Stack& stack) {
  const Pages pages = pages_of(address, bytes);
  if (pages.begin == nullptr) return;
  syscall(SYS_mprotect, pages.begin, pages.end - pages.begin, PROT_READ);
  record_changes(pages.mapping, pages.begin, pages.end, stack);
}

bool is_ours(const iovec* pieces, int count) {
  for (int i = 0; i < count; ++i) {
    if (mapping_of(pieces[i].iov_base) != nullptr) return true;
  }
  return false;
}

// Runs `call`, during which the kernel stores into the buffers.
template <typename Call>
auto record_read(const iovec* pieces, int count, const Stack& stack, Call call) {
  {
    Lock const lock;
    record_pending();
    for (int i = 0; i < count; ++i) open_pages(pieces[i].iov_base, pieces[i].iov_len);
  }
  const auto result = call();
  const int error = errno;
  {
    Lock const lock;
    for (int i = 0; i < count; ++i) close_pages(pieces[i].iov_base, pieces[i].iov_len, stack);
  }
  errno = error;
  return result;
}

#define NEARFAR_READ(into, bytes, call)                                       \
  do {                                                                        \
    const iovec piece{into, bytes};                                           \
    if (!recording() || !is_ours(&piece, 1)) return call;                     \
    return record_read(&piece, 1, NEARFAR_CRASH_STACK, [&] { return call; }); \
  } while (0)
#define NEARFAR_READ_PIECES(pieces, count, call)                                \
  do {                                                                          \
    const iovec* const all = pieces;                                            \
    const int number = count;                                                   \
    if (!recording() || !is_ours(all, number)) return call;                     \
    return record_read(all, number, NEARFAR_CRASH_STACK, [&] { return call; }); \
  } while (0)
}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t read(int file, void* into, std::size_t bytes) {
  NEARFAR_READ(into, bytes, syscall(SYS_read, file, into, bytes));
}

// off_t has 64 bits here, so both names are the same function.
ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) {
  NEARFAR_READ(into, bytes, syscall(SYS_pread64, file, into, bytes, offset));
}
ssize_t pread64(int file, void* into, std::size_t bytes, off64_t offset) {
  NEARFAR_READ(into, bytes, syscall(SYS_pread64, file, into, bytes, offset));
}

ssize_t readv(int file, const iovec* pieces, int count) {
  NEARFAR_READ_PIECES(pieces, count, syscall(SYS_readv, file, pieces, count));
}
ssize_t preadv(int file, const iovec* pieces, int count, off_t offset) {
  NEARFAR_READ_PIECES(pieces, count, syscall(SYS_preadv, file, pieces, count, offset, 0L));
}
ssize_t preadv64(int file, const iovec* pieces, int count, off64_t offset) {
  NEARFAR_READ_PIECES(pieces, count, syscall(SYS_preadv, file, pieces, count, offset, 0L));
}
ssize_t preadv2(int file, const iovec* pieces, int count, off_t offset, int flags) {
  NEARFAR_READ_PIECES(pieces, count, syscall(SYS_preadv2, file, pieces, count, offset, 0L, flags));
}
ssize_t preadv64v2(int file, const iovec* pieces, int count, off64_t offset, int flags) {
  NEARFAR_READ_PIECES(pieces, count, syscall(SYS_preadv2, file, pieces, count, offset, 0L, flags));
}

ssize_t recv(int socket, void* into, std::size_t bytes, int flags) {
  NEARFAR_NEXT(recv);
  NEARFAR_READ(into, bytes, real(socket, into, bytes, flags));
}
ssize_t recvfrom(int socket, void* into, std::size_t bytes, int flags, sockaddr* from,
                 socklen_t* size) {
  NEARFAR_NEXT(recvfrom);
  NEARFAR_READ(into, bytes, real(socket, into, bytes, flags, from, size));
}
ssize_t recvmsg(int socket, msghdr* message, int flags) {
  NEARFAR_NEXT(recvmsg);
  NEARFAR_READ_PIECES(message->msg_iov, static_cast<int>(message->msg_iovlen),
                      real(socket, message, flags));
}

std::size_t fread(void* into, std::size_t size, std::size_t count, FILE* file) {
  NEARFAR_NEXT(fread);
  NEARFAR_READ(into, size * count, real(into, size, count, file));
}
std::size_t fread_unlocked(void* into, std::size_t size, std::size_t count, FILE* file) {
  NEARFAR_NEXT(fread_unlocked);
  NEARFAR_READ(into, size * count, real(into, size, count, file));
}

ssize_t getrandom(void* into, std::size_t bytes, unsigned flags) {
  NEARFAR_NEXT(getrandom);
  NEARFAR_READ(into, bytes, real(into, bytes, flags));
}

// Functions of _FORTIFY_SOURCE, which get the buffer size that the compiler knows.
ssize_t __read_chk(int file, void* into, std::size_t bytes, std::size_t buffer_bytes) {
  NEARFAR_NEXT(__read_chk);
  NEARFAR_READ(into, bytes, real(file, into, bytes, buffer_bytes));
}
ssize_t __pread_chk(int file, void* into, std::size_t bytes, off_t offset,
                    std::size_t buffer_bytes) {
  NEARFAR_NEXT(__pread_chk);
  NEARFAR_READ(into, bytes, real(file, into, bytes, offset, buffer_bytes));
}
ssize_t __pread64_chk(int file, void* into, std::size_t bytes, off_t offset,
                      std::size_t buffer_bytes) {
  NEARFAR_NEXT(__pread64_chk);
  NEARFAR_READ(into, bytes, real(file, into, bytes, offset, buffer_bytes));
}
ssize_t __recv_chk(int socket, void* into, std::size_t bytes, std::size_t buffer_bytes, int flags) {
  NEARFAR_NEXT(__recv_chk);
  NEARFAR_READ(into, bytes, real(socket, into, bytes, buffer_bytes, flags));
}
ssize_t __recvfrom_chk(int socket, void* into, std::size_t bytes, std::size_t buffer_bytes,
                       int flags, sockaddr* from, socklen_t* size) {
  NEARFAR_NEXT(__recvfrom_chk);
  NEARFAR_READ(into, bytes, real(socket, into, bytes, buffer_bytes, flags, from, size));
}
std::size_t __fread_chk(void* into, std::size_t buffer_bytes, std::size_t size, std::size_t count,
                        FILE* file) {
  NEARFAR_NEXT(__fread_chk);
  NEARFAR_READ(into, size * count, real(into, buffer_bytes, size, count, file));
}
std::size_t __fread_unlocked_chk(void* into, std::size_t buffer_bytes, std::size_t size,
                                 std::size_t count, FILE* file) {
  NEARFAR_NEXT(__fread_unlocked_chk);
  NEARFAR_READ(into, size * count, real(into, buffer_bytes, size, count, file));
}
}
#pragma GCC visibility pop
