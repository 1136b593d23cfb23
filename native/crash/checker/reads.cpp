#include "crash/checker/reads.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/hooks.hpp"
#include "crash/checker/calls.hpp"
#include "crash/detour.hpp"
#include "crash/instruction.hpp"
#include "crash/trace.h"

namespace nearfar::crash {

namespace {

constexpr unsigned max_pages = 64;
struct Page {
  std::uint64_t offset;
  unsigned first_line;
  unsigned end_line;
  bool open;
};

// State of the tracked check.
Page pages[max_pages];
unsigned page_count = 0;
bool line_touched[max_tracked_lines];
const std::uint64_t* lines = nullptr;
unsigned line_count = 0;
std::int64_t deadline_ns = 0;
bool tracking = false;
bool is_stopping = false;  // faults and system calls come here

// Second mapping of the tracked pages' memory, for this library.
int memory_file = -1;
char* memory = nullptr;

bool make_memory() {
  if (memory != nullptr) return true;
  constexpr std::size_t bytes = std::size_t{max_pages} * NF_CRASH_PAGE;
  const int file = memfd_create("nearfar-pages", MFD_CLOEXEC);
  // A high number, so that it does not collide with the checker's own descriptors.
  memory_file = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 200);
  if (file >= 0) close(file);
  if (memory_file < 0 || ftruncate(memory_file, bytes) != 0) return false;
  void* const made =
      hooks::system_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
  if (made != MAP_FAILED) memory = static_cast<char*>(made);
  return memory != nullptr;
}

char* memory_of(const Page& page) { return memory + (&page - pages) * NF_CRASH_PAGE; }

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

Page* page_at(std::uint64_t offset) {
  for (unsigned i = 0; i < page_count; ++i) {
    if (offset - pages[i].offset < NF_CRASH_PAGE) return &pages[i];
  }
  return nullptr;
}

// Calls visit(address) for each address at which the page is mapped.
template <typename Visit>
void for_each_place(const Page& page, const Map& map, Visit visit) {
  if (page.offset >= map.offset && page.offset < map.offset + map.bytes)
    visit(map.begin + (page.offset - map.offset));
}

void open_page(Page& page) {
  if (page.open) return;
  page.open = true;
  for (unsigned i = page.first_line; i < page.end_line; ++i) line_touched[i] = true;
  for (const Map* map = first_map(); map != end_of_maps(); ++map) {
    for_each_place(page, *map, [&](char* at) {
      unstopped_call(SYS_mprotect, reinterpret_cast<long>(at), NF_CRASH_PAGE, map->protection);
    });
  }
}

// Notes lines in [begin, begin + bytes) of the image.
void touch(std::uint64_t begin, std::uint64_t bytes) {
  for (unsigned i = 0; i < line_count; ++i) {
    if (lines[i] + NF_CRASH_LINE > begin && lines[i] < begin + bytes) line_touched[i] = true;
  }
}

void end_stopping() {
  if (is_stopping) stop_calls(nullptr, nullptr);
  is_stopping = false;
}

bool is_wholly_touched(const Page& page) {
  return std::all_of(line_touched + page.first_line, line_touched + page.end_line,
                     [](bool is_touched) { return is_touched; });
}

// Runs the access on the page's memory; returns false if that is impossible.
bool run_access(const Page& page, const Map& map, ucontext_t& context, std::uint64_t fault) {
  const auto address = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  const Instruction instruction =
      decode(reinterpret_cast<const unsigned char*>(address), max_instruction_bytes);
  const std::uint64_t operand =
      detour_operand(instruction, address, fault, context, Detour::loads_and_stores);
  const std::uint64_t in_page = operand % NF_CRASH_PAGE;
  const unsigned bytes = accessed_bytes(instruction);
  if (operand == 0 || operand / NF_CRASH_PAGE != fault / NF_CRASH_PAGE ||
      in_page + bytes > NF_CRASH_PAGE ||
      !run_detour(instruction, address, memory_of(page) + in_page, context,
                  Detour::loads_and_stores)) {
    return false;
  }
  touch(map.offset + (operand - reinterpret_cast<std::uint64_t>(map.begin)), bytes);
  return true;
}

void on_fault(int, siginfo_t* info, void* interrupted) {
  auto& context = *static_cast<ucontext_t*>(interrupted);
  const auto fault = reinterpret_cast<std::uint64_t>(info->si_addr);
  const Map* const map = map_of(info->si_addr);
  Page* const page =
      map == nullptr ? nullptr
                     : page_at(map->offset + (fault - reinterpret_cast<std::uint64_t>(map->begin)));
  // Bit 1 of a page fault's error code is set for a store.
  const bool stores = (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
  const int needed = stores ? PROT_WRITE : PROT_READ;
  if (page == nullptr || page->open || (map->protection & needed) == 0 || now_ns() > deadline_ns) {
    // A fault of the checker itself occurs again once this handler is removed.
    stop_tracking();
    return;
  }
  if (!run_access(*page, *map, context, fault) || is_wholly_touched(*page)) open_page(*page);
}

// Whether a read of the file reads a process's memory, as for /proc/self/mem.
bool is_memory(long file) {
  struct stat status {};
  struct statfs system {};
  constexpr mode_t mode = S_IFREG | S_IRUSR | S_IWUSR;
  constexpr long proc_magic = 0x9FA0;
  return unstopped_call(SYS_fstat, file, reinterpret_cast<long>(&status)) == 0 &&
         status.st_mode == mode && status.st_size == 0 &&
         unstopped_call(SYS_fstatfs, file, reinterpret_cast<long>(&system)) == 0 &&
         system.f_type == proc_magic;
}

struct stat image_file;

bool is_image(long file) {
  struct stat status {};
  return unstopped_call(SYS_fstat, file, reinterpret_cast<long>(&status)) == 0 &&
         status.st_dev == image_file.st_dev && status.st_ino == image_file.st_ino;
}

// System calls that access memory only through their arguments and never access the image, each
// with its number of arguments.
struct KnownCall {
  long number;
  int arguments;
};
constexpr KnownCall known_calls[] = {
    {SYS_access, 2},    {SYS_brk, 1},       {SYS_clock_gettime, 2}, {SYS_close, 1},
    {SYS_fcntl, 3},     {SYS_faccessat, 3}, {SYS_flock, 2},         {SYS_fstat, 2},
    {SYS_fstatfs, 2},   {SYS_futex, 6},     {SYS_getcwd, 2},        {SYS_getdents64, 3},
    {SYS_getegid, 0},   {SYS_geteuid, 0},   {SYS_getgid, 0},        {SYS_getpid, 0},
    {SYS_getrandom, 3}, {SYS_gettid, 0},    {SYS_gettimeofday, 2},  {SYS_getuid, 0},
    {SYS_lseek, 3},     {SYS_lstat, 2},     {SYS_newfstatat, 4},    {SYS_open, 3},
    {SYS_openat, 4},    {SYS_prlimit64, 4}, {SYS_readlink, 3},      {SYS_sched_getaffinity, 3},
    {SYS_stat, 2},      {SYS_statfs, 2},    {SYS_statx, 5},         {SYS_sysinfo, 1},
    {SYS_uname, 1}};

// System calls whose arguments are addresses of mappings, not of memory that they read or write.
bool names_mappings(long number) {
  return number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect ||
         number == SYS_madvise || number == SYS_msync;
}

// Notes the memory that a system call reads; returns false if that is unknown.
bool note_call(long number, const long* arguments) {
  if (number == SYS_mmap) {
    const auto file = static_cast<int>(arguments[4]);
    return file < 0 || !is_image(file);
  }
  if (names_mappings(number)) {
    if (number == SYS_mprotect)
      open_pages(reinterpret_cast<const void*>(arguments[0]),
                 static_cast<std::size_t>(arguments[1]));
    return true;
  }
  const bool reads = number == SYS_read || number == SYS_pread64;
  if (reads || number == SYS_write) {
    open_pages(reinterpret_cast<const void*>(arguments[1]), static_cast<std::size_t>(arguments[2]));
    if (!is_image(arguments[0])) return !is_memory(arguments[0]);
    if (!reads) return false;
    const long begin =
        number == SYS_pread64 ? arguments[3] : unstopped_call(SYS_lseek, arguments[0], 0, SEEK_CUR);
    if (begin >= 0)
      touch(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(arguments[2]));
    return true;
  }
  const auto* const known =
      std::find_if(std::begin(known_calls), std::end(known_calls),
                   [&](const KnownCall& call) { return call.number == number; });
  return known != std::end(known_calls) &&
         std::none_of(arguments, arguments + known->arguments, [](long argument) {
           return map_of(reinterpret_cast<const void*>(argument)) != nullptr;
         });
}

void on_call(int, siginfo_t* info, void* interrupted) {
  greg_t* const registers = static_cast<ucontext_t*>(interrupted)->uc_mcontext.gregs;
  const long number = info->si_syscall;
  const long arguments[] = {
      static_cast<long>(registers[REG_RDI]), static_cast<long>(registers[REG_RSI]),
      static_cast<long>(registers[REG_RDX]), static_cast<long>(registers[REG_R10]),
      static_cast<long>(registers[REG_R8]),  static_cast<long>(registers[REG_R9])};
  if (note_call(number, arguments)) {
    registers[REG_RAX] = unstopped_call(number, arguments[0], arguments[1], arguments[2],
                                        arguments[3], arguments[4], arguments[5]);
    return;
  }
  stop_tracking();
  // Repeats the call: its instruction has two bytes.
  registers[REG_RAX] = number;
  registers[REG_RIP] -= 2;
}

// Finds the pages that contain the lines of this state; returns false if there are too many.
bool take_pages(const char* image) {
  page_count = 0;
  for (unsigned i = 0; i < line_count; ++i) {
    const std::uint64_t begin = lines[i] / NF_CRASH_PAGE * NF_CRASH_PAGE;
    if (page_count == 0 || pages[page_count - 1].offset != begin) {
      if (page_count == max_pages) return false;
      pages[page_count++] = {begin, i, i, false};
    }
    pages[page_count - 1].end_line = i + 1;
  }
  const auto end = static_cast<std::uint64_t>(image_file.st_size);
  for (unsigned i = 0; i < page_count; ++i) {
    const std::uint64_t bytes = std::min<std::uint64_t>(NF_CRASH_PAGE, end - pages[i].offset);
    memcpy(memory_of(pages[i]), image + pages[i].offset, bytes);
    memset(memory_of(pages[i]) + bytes, 0, NF_CRASH_PAGE - bytes);
  }
  return true;
}

bool has_threads() {
  // One thread has a folder for itself, and the folder has two more links.
  struct stat tasks {};
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3;
}

}  // namespace

bool begin_tracking(const std::uint64_t* offsets, unsigned count, const char* image,
                    const struct stat& file, std::int64_t limit_ns) {
  if (!keeps_private() || count > max_tracked_lines || *never_track != 0 || has_threads() ||
      is_mapped(image) || !make_memory()) {
    return false;
  }
  lines = offsets;
  line_count = count;
  image_file = file;
  if (!take_pages(image)) return false;
  memset(line_touched, 0, sizeof line_touched);
  deadline_ns = now_ns() + limit_ns;
  tracking = is_stopping = stop_calls(on_fault, on_call);
  return tracking;
}

void end_tracking(bool* touched) {
  end_stopping();
  memcpy(touched, line_touched, line_count);
  forget_maps();
  // A mapping that outlives the check must work as before.
  for (unsigned i = 0; i < page_count; ++i) open_page(pages[i]);
  tracking = false;
}

bool tracks_reads() { return tracking; }

void stop_tracking() {
  for (unsigned i = 0; i < page_count; ++i) open_page(pages[i]);
  end_stopping();
}

void cover(const Map& map) {
  for (unsigned i = 0; tracking && i < page_count; ++i) {
    for_each_place(pages[i], map, [&](char* at) {
      const long placed =
          unstopped_call(SYS_mmap, reinterpret_cast<long>(at), NF_CRASH_PAGE,
                         pages[i].open ? map.protection : PROT_NONE, MAP_SHARED | MAP_FIXED,
                         memory_file, memory_of(pages[i]) - memory);
      if (placed != reinterpret_cast<long>(at)) give_up_tracking();
    });
  }
}

void open_pages(const void* begin, std::size_t bytes) {
  const auto* const first = static_cast<const char*>(begin);
  for (unsigned i = 0; tracking && i < page_count; ++i) {
    for (const Map* map = first_map(); map != end_of_maps(); ++map) {
      for_each_place(pages[i], *map, [&](const char* at) {
        const bool reaches =
            at < first ? first - at < NF_CRASH_PAGE : static_cast<std::size_t>(at - first) < bytes;
        if (reaches) open_page(pages[i]);
      });
    }
  }
}

void give_up_tracking() {
  if (!tracking) return;
  *never_track = 1;
  _exit(1);
}

}  // namespace nearfar::crash
