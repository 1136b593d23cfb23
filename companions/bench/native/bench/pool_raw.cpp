// Files mapped by libpmem, with a header page that names their content.
#ifdef NEARFAR_HAVE_PMEM
#include <libpmem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bench/errors.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {
namespace {

constexpr std::size_t header_bytes = 4096;  // a page, so that the content is page-aligned
constexpr char magic[8] = {'N', 'F', 'B', 'E', 'N', 'C', 'H', '1'};  // the header's version

struct Header {
  char signature[8];  // written last: the pool is then complete
  char layout[256];
  std::uint64_t content_bytes;
};

}  // namespace

void RawPool::map(const std::string& path, std::size_t create_bytes) {
  close();
  path_ = path;
  int is_pmem = 0;
  const int flags = create_bytes == 0 ? 0 : PMEM_FILE_CREATE | PMEM_FILE_EXCL;
  constexpr mode_t mode = 0600;
  struct stat status {};
  const bool device = stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
  mapped_ = static_cast<std::byte*>(pmem_map_file(
      path.c_str(), device ? 0 : create_bytes, device ? 0 : flags, mode, &mapped_bytes_, &is_pmem));
  is_pmem_ = is_pmem != 0;
  if (mapped_ != nullptr) return;
  const int error = errno;
  if (error == ENOSPC) {
    throw MachineError("cannot create the pool " + path + ": its file system has no space for " +
                       std::to_string(create_bytes >> 20U) + " MiB");
  }
  if (error == ENOENT || error == EACCES || error == EROFS || error == EEXIST || error == EPERM) {
    throw BadArgument("cannot open the pool " + path + ": " + std::strerror(error));
  }
  if (create_bytes != 0 && !device) unlink(path.c_str());
  throw MachineError("cannot map the pool " + path +
                     ": its file system may not support mapped files (" + pmem_errormsg() + ")");
}

void RawPool::make(const std::string& path, const std::string& layout, Bytes bytes) {
  if (bytes.count == 0) throw BadArgument("pool_bytes=0 is too small");
  map(path, header_bytes + bytes.count);
  if (mapped_bytes_ < header_bytes + bytes.count) {
    throw MachineError("the device " + path + " is too small: " + std::to_string(bytes.count) +
                       " bytes are needed");
  }
  auto* header = reinterpret_cast<Header*>(mapped_);
  std::memset(header, 0, sizeof *header);
  layout.copy(header->layout, sizeof header->layout - 1);
  header->content_bytes = bytes.count;
  persist(header, sizeof *header);
  data_ = mapped_ + header_bytes;
  bytes_ = bytes;
}

void RawPool::seal() {
  auto* header = reinterpret_cast<Header*>(mapped_);
  std::memcpy(header->signature, magic, sizeof magic);
  persist(header->signature, sizeof magic);
}

void RawPool::open(const std::string& path, const std::string& layout) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    throw BadArgument("cannot read the pool " + path + ": " + std::strerror(errno));
  }
  if (S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) <= header_bytes) {
    throw BadArgument(path + " is too small for a pool of nearfar-bench: it has " +
                      std::to_string(status.st_size) + " bytes");
  }
  map(path, 0);
  const auto* header = reinterpret_cast<const Header*>(mapped_);
  if (std::memcmp(header->signature, magic, sizeof magic - 1) != 0) {
    throw BadArgument(path + " is not a complete pool of nearfar-bench");
  }
  if (header->signature[sizeof magic - 1] != magic[sizeof magic - 1]) {
    throw BadArgument(path + " was made by another version of nearfar: create it again");
  }
  const std::string found_layout(header->layout, strnlen(header->layout, sizeof header->layout));
  if (found_layout != layout) {
    throw BadArgument(path + " has the layout '" + found_layout + "', and '" + layout +
                      "' is needed here");
  }
  if (header->content_bytes > mapped_bytes_ - header_bytes) {
    throw BadArgument(path + " is truncated: its content has " +
                      std::to_string(header->content_bytes) + " bytes");
  }
  data_ = mapped_ + header_bytes;
  bytes_ = {header->content_bytes};
}

void RawPool::close() noexcept {
  if (mapped_ != nullptr) pmem_unmap(mapped_, mapped_bytes_);
  mapped_ = nullptr;
  data_ = nullptr;
}

void RawPool::persist(const void* address, std::size_t length) const {
  if (is_pmem_) {
    pmem_persist(address, length);
  } else if (pmem_msync(address, length) != 0) {
    throw MachineError("the pool " + path_ + " could not be written: " + std::strerror(errno));
  }
}

void RawPool::copy(void* to, const void* from, std::size_t length) const {
  copy_no_drain(to, from, length);
  drain();
}

void RawPool::flush(const void* address, std::size_t length) const {
  if (is_pmem_) {
    pmem_flush(address, length);
  } else {
    persist(address, length);
  }
}

void RawPool::copy_no_drain(void* to, const void* from, std::size_t length) const {
  if (is_pmem_) {
    pmem_memcpy_nodrain(to, from, length);
  } else {
    std::memcpy(to, from, length);
    persist(to, length);
  }
}

void RawPool::drain() const {
  if (is_pmem_) pmem_drain();
}

}  // namespace nearfar::bench
#endif
