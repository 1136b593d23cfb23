// After a system call that succeeded: writes its record.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "crash/files/recorder.hpp"

namespace nearfar::crash::files {

namespace {

constexpr std::uint64_t copied_at_once = 1 << 20;

int descriptor_of(std::uint64_t argument) { return static_cast<int>(argument); }

// Returns where a write without an offset of its own ended.
std::uint64_t position(int file) { return static_cast<std::uint64_t>(lseek(file, 0, SEEK_CUR)); }

std::string two_names(const std::string& first, const std::string& second) {
  return first + std::string(1, '\0') + second;
}

std::string path_of(int file) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

}  // namespace

void Recorder::ends(Tracee& tracee, const Call& call, std::int64_t result) {
  if (result < 0) return;
  const auto bytes = static_cast<std::uint64_t>(result);
  switch (call.number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
      return ends_write(tracee, call, bytes);
    case SYS_sendfile:
    case SYS_splice:
    case SYS_copy_file_range:
      return ends_copy(tracee, call, bytes);
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_creat:
      return ends_open(tracee, call, static_cast<int>(result));
    case SYS_truncate:
    case SYS_ftruncate:
    case SYS_fallocate:
      return ends_resize(tracee, call);
    case SYS_sync:
    case SYS_syncfs:
      return add(tracee, call, {LogKind::sync, 0, 0, 0, call.begun, 0, 0}, "");
    case SYS_sync_file_range:
      return add(tracee, call, {LogKind::range, 0, 0, call.file, 0, 0, 0}, "");
    case SYS_fsync:
    case SYS_fdatasync:
      return add(tracee, call,
                 {LogKind::fsync, 0, 0, call.file, call.begun, 0, call.number == SYS_fdatasync},
                 "");
    case SYS_msync: {
      const std::uint64_t range[2] = {call.arguments[3], call.arguments[1]};
      return add(tracee, call, {LogKind::fsync, 0, 0, call.file, call.begun, 0, 0},
                 {reinterpret_cast<const char*>(range), sizeof range});
    }
    default:
      return ends_named(tracee, call);
  }
}

void Recorder::ends_write(Tracee& tracee, const Call& call, std::uint64_t bytes) {
  const auto* const a = call.arguments;
  buffer_.resize(bytes);
  if (call.number == SYS_write || call.number == SYS_pwrite64) {
    buffer_.resize(tracee.read(a[1], buffer_.data(), bytes));
  } else {
    std::vector<iovec> parts(a[2]);
    tracee.read(a[1], parts.data(), parts.size() * sizeof(iovec));
    std::size_t at = 0;
    for (const iovec& part : parts) {
      const std::size_t wanted = std::min(part.iov_len, bytes - at);
      at +=
          tracee.read(reinterpret_cast<std::uint64_t>(part.iov_base), buffer_.data() + at, wanted);
    }
  }
  const std::string_view data(buffer_.data(), buffer_.size());
  if (call.file == 0) {
    const auto process = static_cast<std::uint32_t>(tracee.process());
    return log_.append({LogKind::output, 0, 0, 0, 0, process, 0}, {}, data);
  }
  const int file = call.written.get();
  const bool vector2 = call.number == SYS_pwritev2;
  const std::uint64_t rwf = vector2 ? a[5] : 0;
  const int flags = fcntl(file, F_GETFL);
  const bool appends = (flags & O_APPEND) != 0 || (rwf & RWF_APPEND) != 0;
  const bool at_position = call.number == SYS_write || call.number == SYS_writev ||
                           (vector2 && a[3] == ~std::uint64_t{0});
  std::uint64_t offset = at_position ? position(file) - bytes : a[3];
  struct stat status {};
  if (appends && !at_position && fstat(file, &status) == 0)
    offset = static_cast<std::uint64_t>(status.st_size) - bytes;
  const bool durable = (flags & O_DSYNC) != 0 || (rwf & (RWF_DSYNC | RWF_SYNC)) != 0;
  std::uint32_t marks = 0;
  if (appends) marks |= write_appends;
  if (durable) marks |= write_is_durable;
  if ((flags & O_DIRECT) != 0) marks |= write_is_direct;
  mapped_.wrote(call.file, offset, data.data(), data.size());
  add(tracee, call, {LogKind::write, 0, 0, call.file, offset, 0, marks}, data);
}

void Recorder::content(Tracee& tracee, const Call& call, ino_t number, int source,
                       std::uint64_t offset, std::uint64_t bytes) {
  const OwnedFile file(open(("/proc/self/fd/" + std::to_string(source)).c_str(), O_RDONLY));
  while (bytes > 0) {
    buffer_.resize(std::min(bytes, copied_at_once));
    const ssize_t got =
        pread(file.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(offset));
    if (got <= 0) return unrecorded("content that cannot be read back");
    const std::string_view data(buffer_.data(), static_cast<std::size_t>(got));
    mapped_.wrote(number, offset, data.data(), data.size());
    add(tracee, call, {LogKind::write, 0, 0, number, offset, 0, 0}, data);
    offset += data.size();
    bytes -= data.size();
  }
}

void Recorder::ends_copy(Tracee& tracee, const Call& call, std::uint64_t bytes) {
  const bool sends = call.number == SYS_sendfile;
  const int file = call.written.get();
  const std::uint64_t pointer = sends ? 0 : call.arguments[3];
  std::uint64_t end = position(file);
  if (pointer != 0) tracee.read(pointer, &end, sizeof end);
  content(tracee, call, call.file, file, end - bytes, bytes);
}

void Recorder::ends_open(Tracee& tracee, const Call& call, int descriptor) {
  if (call.existed) {
    mapped_.resized(call.file, 0);
    return add(tracee, call, {LogKind::truncate, 0, 0, call.file, 0, 0, 0}, "");
  }
  const OwnedFile file = tracee.file(descriptor);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return unrecorded("a file that was closed at once");
  files_.insert(status.st_ino);
  add(tracee, call,
      {LogKind::create, 0, 0, call.place.folder, status.st_ino, 0, status.st_mode & 07777},
      call.place.name);
}

// Records a file that is moved into the data, with its content.
void Recorder::created(Tracee& tracee, const Call& call, const std::string& path,
                       const Place& place) {
  const OwnedFile file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return unrecorded("a folder or a special file that was moved into the data");
  files_.insert(status.st_ino);
  add(tracee, call, {LogKind::create, 0, 0, place.folder, status.st_ino, 0, status.st_mode & 07777},
      place.name);
  content(tracee, call, status.st_ino, file.get(), 0, static_cast<std::uint64_t>(status.st_size));
}

void Recorder::ends_named(Tracee& tracee, const Call& call) {
  const auto* const a = call.arguments;
  const ino_t folder = call.place.folder;
  const std::string& name = call.place.name;
  struct stat status {};
  switch (call.number) {
    case SYS_unlink:
      return add(tracee, call, {LogKind::unlink, 0, 0, folder, call.file, 0, 0}, name);
    case SYS_rmdir:
      return add(tracee, call, {LogKind::rmdir, 0, 0, folder, call.file, 0, 0}, name);
    case SYS_unlinkat: {
      const bool folders = (a[2] & AT_REMOVEDIR) != 0;
      return add(tracee, call,
                 {folders ? LogKind::rmdir : LogKind::unlink, 0, 0, folder, call.file, 0, 0}, name);
    }
    case SYS_mkdir:
    case SYS_mkdirat: {
      const bool at_folder = call.number == SYS_mkdirat;
      const std::string path =
          tracee.path(at_folder ? descriptor_of(a[0]) : AT_FDCWD, a[at_folder ? 1 : 0]);
      if (lstat(path.c_str(), &status) != 0) return unrecorded("a folder that was removed at once");
      folders_.insert(status.st_ino);
      return add(tracee, call,
                 {LogKind::mkdir, 0, 0, folder, status.st_ino, 0, status.st_mode & 07777}, name);
    }
    case SYS_symlink:
    case SYS_symlinkat: {
      const bool at_folder = call.number == SYS_symlinkat;
      const std::string path =
          tracee.path(at_folder ? descriptor_of(a[1]) : AT_FDCWD, a[at_folder ? 2 : 1]);
      if (lstat(path.c_str(), &status) != 0) return unrecorded("a link that was removed at once");
      files_.insert(status.st_ino);
      return add(tracee, call, {LogKind::symlink, 0, 0, folder, status.st_ino, 0, 0},
                 two_names(name, tracee.text(a[0])));
    }
    case SYS_link:
    case SYS_linkat:
      return ends_link(tracee, call);
    default:
      return ends_rename(tracee, call);
  }
}

void Recorder::ends_link(Tracee& tracee, const Call& call) {
  if (call.target.folder == 0) return;
  const bool at_folder = call.number == SYS_linkat;
  const int folder = at_folder ? descriptor_of(call.arguments[2]) : AT_FDCWD;
  const std::string path = tracee.path(folder, call.arguments[at_folder ? 3 : 1]);
  if (!is_data(call.file)) return created(tracee, call, path, call.target);
  add(tracee, call, {LogKind::link, 0, 0, call.target.folder, call.file, 0, 0}, call.target.name);
}

void Recorder::ends_rename(Tracee& tracee, const Call& call) {
  const auto* const a = call.arguments;
  const bool at_folder = call.number != SYS_rename;
  const auto flags = static_cast<std::uint32_t>(call.number == SYS_renameat2 ? a[4] : 0);
  if (call.place.folder == 0) {
    const int folder = at_folder ? descriptor_of(a[2]) : AT_FDCWD;
    return created(tracee, call, tracee.path(folder, a[at_folder ? 3 : 1]), call.target);
  }
  if (call.target.folder == 0) {
    if (folders_.contains(call.file)) return unrecorded("a folder that was moved out of the data");
    return add(tracee, call, {LogKind::unlink, 0, 0, call.place.folder, call.file, 0, 0},
               call.place.name);
  }
  add(tracee, call, {LogKind::rename, 0, 0, call.place.folder, call.target.folder, 0, flags},
      two_names(call.place.name, call.target.name));
}

void Recorder::ends_resize(Tracee& tracee, const Call& call) {
  if (call.number != SYS_fallocate) {
    mapped_.resized(call.file, call.arguments[1]);
    return add(tracee, call, {LogKind::truncate, 0, 0, call.file, call.arguments[1], 0, 0}, "");
  }
  const std::uint64_t range[2] = {call.arguments[3], call.arguments[1]};
  add(tracee, call, {LogKind::allocate, 0, 0, call.file, call.arguments[2], 0, 0},
      {reinterpret_cast<const char*>(range), sizeof range});
}

void Recorder::refuse(std::string_view name) {
  log_.append({LogKind::refused, 0, 0, 0, 0, 0, 0}, {}, name);
}

void Recorder::unrecorded(std::string_view what) {
  log_.append({LogKind::unrecorded, 0, 0, 0, 0, 0, 0}, {}, what);
}

void Recorder::outside(int file) {
  const std::string path = path_of(file);
  for (const char* const no_data : {"/memfd:", "/proc/", "/sys/"}) {
    if (path.starts_with(no_data)) return;
  }
  if (path.empty() || !outside_.insert(path).second) return;
  log_.append({LogKind::outside, 0, 0, 0, 0, 0, 0}, {}, path);
}

void Recorder::compare_mapped() {
  mapped_.compare([&](ino_t file, std::uint64_t offset, const char* data, std::size_t bytes) {
    log_.append({LogKind::mapped, 0, 0, file, offset, 0, 0}, {}, std::string_view(data, bytes));
  });
}

std::vector<std::uint64_t> Recorder::stack(Tracee& tracee, const Call& call) {
  return tracee.stack(call.instruction, call.stack_pointer, [&](const std::string& path) {
    const auto [entry, fresh] = modules_.try_emplace(path, modules_.size() + 1);
    if (fresh) log_.append({LogKind::module, 0, 0, entry->second, 0, 0, 0}, {}, path);
    return entry->second;
  });
}

void Recorder::add(Tracee& tracee, const Call& call, LogRecord record, std::string_view text) {
  record.process = static_cast<std::uint32_t>(tracee.process());
  const std::vector<std::uint64_t> frames = stack(tracee, call);
  log_.append(record, frames, text);
}

}  // namespace nearfar::crash::files
