#include "bench/unsynced.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
  struct stat status {};
  if (path_.empty() || stat(path_.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  const bool written = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (!written) {
    throw MachineError("the pool " + path_ + " could not be written: " + std::strerror(error));
  }
}

}  // namespace nearfar::bench

// libpmem's calls of msync resolve to this definition first; the next one is a preloaded library's,
// such as that of `nearfar crash`, or the C library's.
extern "C" __attribute__((visibility("default"))) int msync(void* from, std::size_t bytes,
                                                            int flags) {
  using Msync = int(void*, std::size_t, int);
  static Msync* const next = reinterpret_cast<Msync*>(dlsym(RTLD_NEXT, "msync"));
  if (nearfar::bench::unsynced.load(std::memory_order_relaxed)) return 0;
  return next(from, bytes, flags);
}
