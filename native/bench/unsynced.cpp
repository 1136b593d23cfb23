#include "bench/unsynced.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/errors.hpp"

namespace nearfar::bench {
namespace {

std::atomic<bool> unsynced{false};

}  // namespace

Unsynced::Unsynced(std::string path) : path_(std::move(path)) { unsynced = !path_.empty(); }

Unsynced::~Unsynced() { unsynced = false; }

void Unsynced::sync() {
  unsynced = false;
  struct stat found {};
  if (path_.empty() || stat(path_.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return;
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  const bool written = file >= 0 && fsync(file) == 0;
  const int why = errno;
  if (file >= 0) close(file);
  if (!written) {
    throw MachineLacks("the pool " + path_ + " could not be written: " + std::strerror(why));
  }
}

}  // namespace nearfar::bench

// libpmem calls msync by its name, and the executable's comes before the C library's.
extern "C" __attribute__((visibility("default"))) int msync(void* from, std::size_t bytes,
                                                            int flags) noexcept {
  if (nearfar::bench::unsynced.load(std::memory_order_relaxed)) return 0;
  return static_cast<int>(syscall(SYS_msync, from, bytes, flags));
}
