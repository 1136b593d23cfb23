// Pools of libpmemobj, which fails in many ways: each is tested before it is called.
#ifdef NEARFAR_HAVE_PMEM
#include <fcntl.h>
#include <libpmem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/os.hpp"
#include "bench/errors.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {
namespace {

// Layout of a pool's first pages in libpmemobj 1 (pool_hdr, then pmemobjpool): signature at 0,
// major version at 8, layout's name at 4096.
constexpr std::size_t signature_bytes = 8;
constexpr off_t major_at = 8;
constexpr off_t layout_at = 4096;
constexpr std::uint32_t known_major = 6;  // OBJ_FORMAT_MAJOR of libpmemobj 1.4 to 1.13

std::string library_error() { return pmemobj_errormsg(); }

std::string text_at(int file, off_t where, std::size_t length) {
  std::string text(length, '\0');
  const ssize_t received = pread(file, text.data(), length, where);
  text.resize(received < 0 ? 0 : static_cast<std::size_t>(received));
  return text;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

// Throws if the file is not a pool of `layout`.
void check_file(const std::string& path, const std::string& layout) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw BadArgument("cannot read the pool " + path + ": " + std::strerror(errno));
  }
  struct stat status {};
  fstat(file, &status);
  const std::string signature = text_at(file, 0, signature_bytes);
  std::uint32_t major = 0;
  const bool complete = pread(file, &major, sizeof major, major_at) == sizeof major;
  std::string found_layout = text_at(file, layout_at, PMEMOBJ_MAX_LAYOUT);
  ::close(file);
  found_layout = found_layout.c_str();
  if (S_ISCHR(status.st_mode)) return;  // device-DAX cannot be read, only mapped
  if (!complete || std::memcmp(signature.data(), "PMEMOBJ", signature_bytes) != 0) {
    throw BadArgument(path + " is not a pool of libpmemobj");
  }
  if (major != known_major) {
    throw BadArgument(path + " has version " + std::to_string(major) +
                      " of libpmemobj's format, but this library reads version " +
                      std::to_string(known_major) + ": convert it with pmdk-convert");
  }
  if (found_layout == layout) return;
  const std::string family = layout.substr(0, layout.find_last_of('-'));
  const std::string wanted_version = first_word(layout);
  const std::string version = first_word(found_layout);
  if (version != wanted_version &&
      version.compare(0, family.find('-'), family, 0, family.find('-')) == 0 &&
      version.substr(0, version.find_last_of('-')) ==
          wanted_version.substr(0, wanted_version.find_last_of('-'))) {
    throw BadArgument(path + " was made by another version of nearfar (" + version +
                      ", this one writes " + wanted_version + "): create it again");
  }
  throw BadArgument(path + " has the layout '" + found_layout + "', and '" + layout +
                    "' is needed here");
}

}  // namespace

void ObjectPool::make(const std::string& path, const std::string& layout, Bytes bytes) {
  close();
  path_ = path;
  struct stat status {};
  const bool device = stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
  if (!device && bytes < Bytes{PMEMOBJ_MIN_POOL}) {
    throw BadArgument("pool_bytes=" + std::to_string(bytes.count) +
                      " is too small: libpmemobj's pools have at least 8 MiB");
  }
  // Whole huge pages: libpmemobj maps only whole pages, and populate() covers all of them.
  const std::uint64_t huge = os::huge_page.count;
  bytes = {(bytes.count + huge - 1) / huge * huge};
  constexpr mode_t mode = 0600;
  handle_ = pmemobj_create(path.c_str(), layout.c_str(), device ? 0 : bytes.count, mode);
  if (handle_ != nullptr) {
    bytes_ = bytes;
    return;
  }
  const int error = errno;
  if (error == EEXIST) {
    throw BadArgument("cannot create the pool " + path + ": it exists; choose another name");
  }
  if (error == ENOSPC) {
    throw MachineError("cannot create the pool " + path + ": its file system has no space for " +
                       std::to_string(bytes.count >> 20U) + " MiB");
  }
  if (error == ENOENT || error == EACCES || error == EROFS || error == EPERM) {
    throw BadArgument("cannot create the pool " + path + ": " + std::strerror(error));
  }
  if (!device) unlink(path.c_str());
  throw MachineError("cannot create the pool " + path +
                     ": its file system may not support mapped files (" + library_error() + ")");
}

void ObjectPool::open(const std::string& path, const std::string& layout) {
  close();
  path_ = path;
  check_file(path, layout);
  handle_ = pmemobj_open(path.c_str(), layout.c_str());
  if (handle_ != nullptr) return;
  const int error = errno;
  if (error == EWOULDBLOCK || error == EAGAIN) {
    throw MachineError("the pool " + path + " is in use by another process: wait until it ends");
  }
  throw BadArgument("cannot open the pool " + path + ": " + library_error());
}

void ObjectPool::populate() const {
  if (bytes_.count != 0 && pmem_is_pmem(handle_, os::base_page.count) != 0) {
    os::populate(base(), bytes_);
  }
}

void ObjectPool::close() noexcept {
  if (handle_ != nullptr) pmemobj_close(handle_);
  handle_ = nullptr;
}

Durability ObjectPool::durability() const {
  return durability_of(path_, pmem_is_pmem(handle_, os::base_page.count) != 0);
}

void* ObjectPool::root(std::size_t bytes, const std::function<void(void*)>& fill) const {
  struct RootContent {
    std::size_t bytes;
    const std::function<void(void*)>* fill;
  } arguments{bytes, &fill};
  const auto construct = [](PMEMobjpool* pool, void* object, void* argument) {
    const auto& content = *static_cast<const RootContent*>(argument);
    std::memset(object, 0, content.bytes);
    if (*content.fill) (*content.fill)(object);
    pmemobj_persist(pool, object, content.bytes);
    return 0;
  };
  const PMEMoid oid = pmemobj_root_construct(handle_, bytes, construct, &arguments);
  if (OID_IS_NULL(oid)) throw MachineError("the pool " + path_ + " is full: " + library_error());
  return pmemobj_direct(oid);
}

}  // namespace nearfar::bench
#endif
