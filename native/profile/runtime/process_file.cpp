#include "profile/runtime/process_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "profile/runtime/os.hpp"
#include "profile/runtime/run_folder.hpp"

namespace nearfar::profile {

namespace {

constexpr std::uint64_t page = 4096;

// Assigns `share`/64 of the memory to the next table, in whole pages.
template <typename T>
void place(Table& table, std::uint64_t& offset, std::uint64_t memory, std::uint64_t share,
           std::uint64_t max_capacity = UINT32_MAX) {
  const std::uint64_t bytes = memory / 64 * share / page * page;
  table.offset = offset;
  const std::uint64_t capacity = bytes / sizeof(T);
  table.capacity = static_cast<std::uint32_t>(capacity < max_capacity ? capacity : max_capacity);
  offset += bytes;
}

std::uint64_t rounded(std::uint64_t memory_bytes) {
  // 64 parts of at least one page each.
  const std::uint64_t unit = 64 * page;
  return (memory_bytes + unit - 1) / unit * unit;
}

constexpr std::uint64_t header_size = (sizeof(ProcessHeader) + page - 1) / page * page;

}  // namespace

std::uint64_t process_file_size(std::uint64_t memory_bytes) {
  return header_size + rounded(memory_bytes);
}

ProcessHeader* create_process_file(std::uint64_t memory_bytes, char* message,
                                   std::uint64_t message_size) {
  int file = -1;
  char path[path_size];
  // A program that execs itself keeps its process ID; the second number distinguishes its images.
  for (int image = 0; image < 10000 && file < 0; ++image) {
    char name[64];
    snprintf(name, sizeof name, "process.%d.%d", getpid(), image);
    if (!run_folder_file(path, name)) return nullptr;
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) {
    snprintf(message, message_size, "cannot create %s: %s", path, strerrordesc_np(errno));
    return nullptr;
  }
  const std::uint64_t size = process_file_size(memory_bytes);
  struct statvfs disk {};
  void* memory = nullptr;
  // The file is sparse, because most of the tables stays untouched. Its space is still reserved,
  // because a full disk would raise SIGBUS.
  if (fstatvfs(file, &disk) == 0 && disk.f_bavail * disk.f_frsize < size) {
    errno = ENOSPC;
  } else if (ftruncate(file, static_cast<off_t>(size)) == 0) {
    memory = map_memory(size, MAP_SHARED, file);
  }
  const int error = errno;
  close(file);
  if (memory == nullptr) {
    snprintf(message, message_size, "cannot reserve %s: %s", path, strerrordesc_np(error));
    unlink(path);
    return nullptr;
  }
  auto& header = *static_cast<ProcessHeader*>(memory);
  header.version = process_version;
  header.pid = getpid();
  header.parent_pid = getppid();
  const std::uint64_t table_bytes = rounded(memory_bytes);
  std::uint64_t offset = header_size;
  place<CounterRecord>(header.counters, offset, table_bytes, 22);
  place<CurveRecord>(header.curves, offset, table_bytes, 4);
  place<PageRecord>(header.pages, offset, table_bytes, 4);
  place<EventRecord>(header.events, offset, table_bytes, 2);
  place<RangeRecord>(header.ranges, offset, table_bytes, 1);
  place<PositionRecord>(header.positions, offset, table_bytes, 1);
  // Sites are numbered with 16 bits.
  place<SiteRecord>(header.sites, offset, table_bytes, 10, UINT16_MAX);
  place<InstructionRecord>(header.instructions, offset, table_bytes, 8);
  place<char>(header.strings, offset, table_bytes, 8);
  place<LiveRecord>(header.live, offset, table_bytes, 2);
  place<ModuleRecord>(header.modules, offset, table_bytes, 2);
  header.strings.used = 1;  // offset 0 is the empty string
  memcpy(header.magic, process_magic, sizeof header.magic);
  return &header;
}

}  // namespace nearfar::profile
