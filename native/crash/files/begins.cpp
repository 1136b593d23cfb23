// Before a system call: notes what it refers to, while its arguments still show that.
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "crash/files/recorder.hpp"

namespace nearfar::crash::files {

namespace {

int as_descriptor(std::uint64_t argument) { return static_cast<int>(argument); }

// Returns the last part of a path; empty if the path names no entry of its folder.
std::string last_name(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "";
  const std::size_t slash = path.rfind('/', end);
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const std::string name = path.substr(begin, end + 1 - begin);
  return name == "." || name == ".." ? "" : name;
}

// Returns the file that is mapped at an address.
ino_t mapped_at(pid_t process, std::uint64_t address, std::uint64_t& offset) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long first = 0;
    unsigned long file = 0;
    if (sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %lu", &begin, &end, &first, &file) != 4) continue;
    if (address < begin || address >= end) continue;
    offset = first + (address - begin);
    return file;
  }
  return 0;
}

}  // namespace

Recorder::Recorder(Log& log, const char* folder) : log_(log) {
  struct stat status {};
  if (stat(folder, &status) == 0) device_ = status.st_dev;
  learn(folder);
  if (fstat(STDOUT_FILENO, &status) != 0) return;
  output_device_ = status.st_dev;
  output_ = status.st_ino;
}

void Recorder::learn(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) == 0) folders_.insert(status.st_ino);
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (lstat(entry.path().c_str(), &status) != 0) continue;
    (S_ISDIR(status.st_mode) ? folders_ : files_).insert(status.st_ino);
  }
}

Place Recorder::place_at(const Tracee& tracee, int folder, std::uint64_t path) const {
  std::string name = tracee.path(folder, path);
  Place place;
  place.name = last_name(name);
  const std::size_t end = name.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? end : name.rfind('/', end);
  struct stat status {};
  if (place.name.empty() || slash == std::string::npos) return place;
  const bool known = stat(name.substr(0, slash + 1).c_str(), &status) == 0 &&
                     status.st_dev == device_ && folders_.contains(status.st_ino);
  if (known) place.folder = status.st_ino;
  return place;
}

bool Recorder::begins(Tracee& tracee, Call& call) {
  switch (call.number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendfile:
    case SYS_ftruncate:
    case SYS_fallocate:
      return begins_output(tracee, call, as_descriptor(call.arguments[0]));
    case SYS_splice:
    case SYS_copy_file_range:
      return begins_output(tracee, call, as_descriptor(call.arguments[2]));
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_creat:
      return begins_open(tracee, call);
    case SYS_mmap:
      return begins_map(tracee, call);
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_sync_file_range:
    case SYS_msync:
      return begins_sync(tracee, call);
    default:
      return begins_named(tracee, call);
  }
}

bool Recorder::begins_output(Tracee& tracee, Call& call, int descriptor) {
  OwnedFile file = tracee.file(descriptor);
  struct stat status {};
  if (!file.open() || fstat(file.get(), &status) != 0) return false;
  const bool of_data = status.st_dev == device_ && is_data(status.st_ino);
  if (S_ISREG(status.st_mode) && of_data) {
    call.file = status.st_ino;
    if (call.number == SYS_ftruncate || call.number == SYS_fallocate) compare_mapped();
    call.written = std::move(file);
    return true;
  }
  if (status.st_dev == output_device_ && status.st_ino == output_) {
    compare_mapped();
    return call.number == SYS_write || call.number == SYS_writev;
  }
  if (S_ISREG(status.st_mode) && status.st_nlink > 0) outside(file.get());
  return false;
}

bool Recorder::begins_open(Tracee& tracee, Call& call) {
  const bool at_folder = call.number == SYS_openat || call.number == SYS_openat2;
  const int folder = at_folder ? as_descriptor(call.arguments[0]) : AT_FDCWD;
  const std::uint64_t path = call.arguments[at_folder ? 1 : 0];
  std::uint64_t flags = O_CREAT | O_TRUNC;
  if (call.number == SYS_open) flags = call.arguments[1];
  if (call.number == SYS_openat) flags = call.arguments[2];
  if (call.number == SYS_openat2) tracee.read(call.arguments[2], &flags, sizeof flags);
  struct stat status {};
  const bool exists = stat(tracee.path(folder, path).c_str(), &status) == 0;
  if (exists && status.st_dev != device_) return false;
  if ((flags & O_TMPFILE) == O_TMPFILE) return exists && folders_.contains(status.st_ino);
  call.existed = exists;
  if (exists) {
    call.file = status.st_ino;
    return (flags & O_TRUNC) != 0 && is_data(status.st_ino) && status.st_size > 0;
  }
  call.place = place_at(tracee, folder, path);
  return (flags & O_CREAT) != 0 && call.place.folder != 0;
}

bool Recorder::begins_named(Tracee& tracee, Call& call) {
  const auto* const a = call.arguments;
  int folder = AT_FDCWD;
  std::uint64_t path = a[0];
  bool follows = false;
  switch (call.number) {
    case SYS_rename:
    case SYS_link:
      call.target = place_at(tracee, AT_FDCWD, a[1]);
      break;
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_linkat:
      folder = as_descriptor(a[0]);
      path = a[1];
      call.target = place_at(tracee, as_descriptor(a[2]), a[3]);
      follows = call.number == SYS_linkat && (a[4] & (AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0;
      break;
    case SYS_symlink:
      path = a[1];
      break;
    case SYS_symlinkat:
      folder = as_descriptor(a[1]);
      path = a[2];
      break;
    case SYS_unlinkat:
    case SYS_mkdirat:
      folder = as_descriptor(a[0]);
      path = a[1];
      break;
    case SYS_truncate:
      follows = true;
      break;
    default:  // unlink, mkdir, rmdir
      break;
  }
  const std::string name = tracee.path(folder, path);
  struct stat status {};
  const bool known = (follows ? stat : lstat)(name.c_str(), &status) == 0;
  if (known && status.st_dev == device_) call.file = status.st_ino;
  call.place = place_at(tracee, folder, path);
  if (call.number == SYS_truncate) {
    if (!is_data(call.file)) return false;
    compare_mapped();
    return true;
  }
  if (call.place.folder == 0 && call.target.folder == 0) return false;
  compare_mapped();
  return true;
}

bool Recorder::begins_sync(Tracee& tracee, Call& call) {
  if (call.number == SYS_msync) {
    if ((call.arguments[2] & MS_SYNC) == 0) return false;
    std::uint64_t offset = 0;
    call.file = mapped_at(tracee.process(), call.arguments[0], offset);
    if (!is_data(call.file)) return false;
    call.arguments[3] = offset;
  } else if (call.number != SYS_sync) {
    const OwnedFile file = tracee.file(as_descriptor(call.arguments[0]));
    struct stat status {};
    if (!file.open() || fstat(file.get(), &status) != 0 || status.st_dev != device_) return false;
    call.file = status.st_ino;
    if (call.number != SYS_syncfs && !is_data(call.file) && !folders_.contains(call.file))
      return false;
  }
  compare_mapped();
  call.begun = log_.records();
  return true;
}

bool Recorder::begins_map(Tracee& tracee, Call& call) {
  if ((call.arguments[2] & PROT_EXEC) != 0) tracee.forget_code();
  const bool shared = (call.arguments[3] & MAP_SHARED) != 0;
  const bool of_file = (call.arguments[3] & MAP_ANONYMOUS) == 0;
  if (!shared || !of_file || (call.arguments[2] & PROT_WRITE) == 0) return false;
  const OwnedFile file = tracee.file(as_descriptor(call.arguments[4]));
  struct stat status {};
  if (!file.open() || fstat(file.get(), &status) != 0) return false;
  if (status.st_dev == device_ && is_data(status.st_ino)) mapped_.add(status.st_ino, file.get());
  return false;
}

}  // namespace nearfar::crash::files
