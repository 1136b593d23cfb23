// Runs a program until it has reached a place in its code for the N-th time, and measures the time:
// `nearfar_reach FILE OFFSET TIMES RESULT PROGRAM NAME ARGUMENTS...`.
//
// OFFSET is the offset of an instruction in FILE, the program or a library that it is linked with;
// NAME is argv[0]. The program is ended at the place. RESULT receives, in ns, its CPU time, the
// part of that time spent stepping over the place, and wall time. Exit codes: 0 reached, 1 the
// program ended earlier, 2 FILE is not loaded, 3 the program could not be run.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

enum Exit { reached = 0, ended_before = 1, not_loaded = 2, cannot_run = 3 };

constexpr std::uint64_t trap_instruction = 0xCC;
constexpr std::uint64_t entry_key = 9;  // AT_ENTRY

pid_t program = 0;
// Threads of the program, and threads that stopped before their creator reported them.
std::set<pid_t> known;
std::set<pid_t> early;
// CPU time, in ns, from a stop at the place until its instruction is done.
std::uint64_t stepping_ns = 0;

// One breakpoint in the program's memory.
class Breakpoint {
 public:
  explicit Breakpoint(std::uint64_t address)
      : address_(address), original_(peek(program, address)) {}

  std::uint64_t address() const { return address_; }
  void set(pid_t thread) const { poke(thread, (original_ & ~0xFFull) | trap_instruction); }
  void remove(pid_t thread) const { poke(thread, original_); }

 private:
  static std::uint64_t peek(pid_t thread, std::uint64_t address) {
    return static_cast<std::uint64_t>(ptrace(PTRACE_PEEKTEXT, thread, address, nullptr));
  }
  void poke(pid_t thread, std::uint64_t word) const {
    // Only the first byte is ours: there may be other breakpoints in the rest, and it may change.
    const std::uint64_t now = peek(thread, address_);
    ptrace(PTRACE_POKETEXT, thread, address_, (now & ~0xFFull) | (word & 0xFF));
  }

  std::uint64_t address_;
  std::uint64_t original_;
};

std::uint64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t cpu_ns() {
  clockid_t clock = 0;
  return clock_getcpuclockid(program, &clock) == 0 ? now_ns(clock) : 0;
}

// Returns the address of the program's first instruction; 0 if unknown.
std::uint64_t entry_address() {
  std::ifstream file("/proc/" + std::to_string(program) + "/auxv", std::ios::binary);
  std::uint64_t row[2] = {};
  while (file.read(reinterpret_cast<char*>(row), sizeof row)) {
    if (row[0] == entry_key) return row[1];
  }
  return 0;
}

// Returns the address at which the byte at `offset` of the file `path` is mapped for execution; 0:
// it is not mapped.
std::uint64_t mapped_at(const std::string& path, std::uint64_t offset) {
  std::ifstream maps("/proc/" + std::to_string(program) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file_begin = 0;
    char rights[5] = {};
    int name = 0;
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &begin, &end, rights, &file_begin,
               &name) < 4) {
      continue;
    }
    if (rights[2] != 'x' || name == 0 || line.substr(static_cast<std::size_t>(name)) != path) {
      continue;
    }
    if (offset >= file_begin && offset - file_begin < end - begin) {
      return begin + (offset - file_begin);
    }
  }
  return 0;
}

struct Stop {
  pid_t thread;
  int status;
};

int event_of(const Stop& stop) { return stop.status >> 16; }

// Runs only the instruction at the breakpoint. If it causes a fork, clone or exec, `stop` becomes
// that event, which must still be handled; otherwise the thread continues. Returns false if the
// program ended.
bool steps_over(Stop& stop, const Breakpoint& breakpoint) {
  const pid_t thread = stop.thread;
  const std::uint64_t before = cpu_ns();
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return false;
  registers.rip = breakpoint.address();
  ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
  breakpoint.remove(thread);
  if (ptrace(PTRACE_SINGLESTEP, thread, nullptr, nullptr) != 0) return false;
  if (waitpid(thread, &stop.status, __WALL) != thread || !WIFSTOPPED(stop.status)) return false;
  breakpoint.set(thread);
  stepping_ns += cpu_ns() - before;
  if (event_of(stop) != 0) return true;
  // A signal that arrived first is delivered.
  const int signal = WSTOPSIG(stop.status);
  ptrace(PTRACE_CONT, thread, nullptr, signal == SIGTRAP ? 0 : signal);
  return true;
}

bool is_at(pid_t thread, const Breakpoint& breakpoint) {
  user_regs_struct registers{};
  return ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0 &&
         registers.rip == breakpoint.address() + 1;
}

bool writes(const char* path, std::uint64_t cpu, std::uint64_t stepping, std::uint64_t wall) {
  FILE* file = fopen(path, "w");
  if (file == nullptr) return false;
  const bool printed = fprintf(file, "%lu %lu %lu\n", cpu, stepping, wall) > 0;
  return fclose(file) == 0 && printed;
}

void end_program() {
  kill(program, SIGKILL);
  while (waitpid(-1, nullptr, __WALL) > 0 || errno == EINTR) {
  }
}

// Turns the calling process into the program, stopped at its first instruction.
[[noreturn]] void become(char** words) {
  const char* path = words[0];
  // Its output is discarded: the profiled run has printed it already.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  execv(path, words + 1);
  _exit(cannot_run);
}

// Continues until `breakpoint` was hit `times` times; returns false if the program ended earlier.
bool reaches(const Breakpoint& breakpoint, std::uint64_t times) {
  std::uint64_t hits = 0;
  Stop stop{};
  bool is_left = false;  // CPU time of stepping over the breakpoint
  while (is_left || (stop.thread = waitpid(-1, &stop.status, __WALL)) > 0) {
    is_left = false;
    if (!WIFSTOPPED(stop.status)) {
      if (stop.thread == program) return false;
      continue;
    }
    const int signal = WSTOPSIG(stop.status);
    const int event = event_of(stop);
    unsigned long made = 0;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
      ptrace(PTRACE_GETEVENTMSG, stop.thread, nullptr, &made);
    }
    const auto child = static_cast<pid_t>(made);
    switch (event) {
      case PTRACE_EVENT_CLONE:
        known.insert(child);
        if (early.erase(child) != 0) ptrace(PTRACE_CONT, child, nullptr, nullptr);
        break;
      case PTRACE_EVENT_FORK:
      case PTRACE_EVENT_VFORK:
        // Child processes are not timed: they continue without the breakpoint.
        if (early.erase(child) == 0) waitpid(child, nullptr, __WALL);
        breakpoint.remove(child);
        ptrace(PTRACE_DETACH, child, nullptr, nullptr);
        if (event == PTRACE_EVENT_FORK) breakpoint.set(stop.thread);
        ptrace(PTRACE_CONT, stop.thread, nullptr, nullptr);
        continue;
      case PTRACE_EVENT_VFORK_DONE:
        breakpoint.set(stop.thread);
        ptrace(PTRACE_CONT, stop.thread, nullptr, nullptr);
        continue;
      case PTRACE_EVENT_EXEC:
        return false;
      default:
        break;
    }
    if (event != 0) {
      ptrace(PTRACE_CONT, stop.thread, nullptr, nullptr);
    } else if (signal == SIGTRAP && is_at(stop.thread, breakpoint)) {
      if (++hits == times) return true;
      if (!steps_over(stop, breakpoint)) return false;
      is_left = event_of(stop) != 0;
    } else {
      if (signal == SIGSTOP && known.count(stop.thread) == 0) {
        early.insert(stop.thread);
        continue;
      }
      // A new thread begins with a SIGSTOP, which the program did not send.
      const bool own = signal != SIGTRAP && signal != SIGSTOP;
      ptrace(PTRACE_CONT, stop.thread, nullptr, own ? signal : 0);
    }
  }
  return false;
}

// Runs the program to its entry point, where its linked libraries are mapped.
bool loads() {
  int status = 0;
  if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) return false;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC;
  ptrace(PTRACE_SETOPTIONS, program, nullptr, options);
  const std::uint64_t entry = entry_address();
  if (entry == 0) return false;
  const Breakpoint at_entry(entry);
  at_entry.set(program);
  ptrace(PTRACE_CONT, program, nullptr, nullptr);
  if (!reaches(at_entry, 1)) return false;
  at_entry.remove(program);
  user_regs_struct registers{};
  ptrace(PTRACE_GETREGS, program, nullptr, &registers);
  registers.rip = entry;
  return ptrace(PTRACE_SETREGS, program, nullptr, &registers) == 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 7) return cannot_run;
  const char* const result = words[4];
  const std::uint64_t offset = strtoull(words[2], nullptr, 10);
  const std::uint64_t times = strtoull(words[3], nullptr, 10);
  const std::uint64_t begun = now_ns(CLOCK_MONOTONIC);
  program = fork();
  if (program == 0) become(words + 5);
  known.insert(program);
  if (program < 0 || !loads()) return cannot_run;
  const std::uint64_t address = mapped_at(words[1], offset);
  if (address == 0) {
    end_program();
    return not_loaded;
  }
  const Breakpoint end(address);
  end.set(program);
  ptrace(PTRACE_CONT, program, nullptr, nullptr);
  const bool is_there = reaches(end, times);
  const std::uint64_t cpu = cpu_ns();
  const std::uint64_t stepping = stepping_ns;
  const std::uint64_t wall = now_ns(CLOCK_MONOTONIC) - begun;
  end_program();
  if (!is_there) return ended_before;
  return writes(result, cpu, stepping, wall) ? reached : cannot_run;
}
