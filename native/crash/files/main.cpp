// nearfar_crash_files LOG FOLDER BYTES PROGRAM [ARGUMENT...]: runs the program and logs what it
// does to the files in FOLDER, in at most BYTES.
//
// It traces the program (ptrace), which stops only at the calls of the filter (seccomp). So it sees
// what a preloaded library cannot: calls inside libc, and those of static programs.
//
// The recording ends with the program; processes that it leaves behind are killed. Exit codes: that
// of the program, or 128 and the signal that killed it; in the log's file is nothing if the program
// could not be started: the reason is on standard error.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "crash/files/filter.hpp"
#include "crash/files/recorder.hpp"

namespace nearfar::crash::files {
namespace {

constexpr int cannot_start = 125;

struct Thread {
  std::shared_ptr<Tracee> tracee;
  Call call;
};

class Session {
 public:
  Session(Recorder& recorder, pid_t program) : recorder_(recorder), program_(program) {}

  // Traces until the program ends; returns its exit code.
  int run();

 private:
  void stopped(pid_t thread, int status);
  bool begins(pid_t thread);
  void ends(pid_t thread);
  Thread& known(pid_t thread);
  void resume(pid_t thread, bool until_end, int signal) const {
    ptrace(until_end ? PTRACE_SYSCALL : PTRACE_CONT, thread, nullptr, signal);
  }

  Recorder& recorder_;
  pid_t program_;
  std::unordered_map<pid_t, Thread> threads_;
  std::unordered_map<pid_t, std::weak_ptr<Tracee>> processes_;
};

int Session::run() {
  for (;;) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0 && errno == EINTR) continue;
    if (thread < 0) return cannot_start;
    if (WIFSTOPPED(status)) {
      stopped(thread, status);
      continue;
    }
    threads_.erase(thread);
    if (thread != program_) continue;
    recorder_.compare_mapped();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

Thread& Session::known(pid_t thread) {
  Thread& entry = threads_[thread];
  if (entry.tracee == nullptr) {
    auto fresh = std::make_shared<Tracee>(thread);
    std::weak_ptr<Tracee>& same = processes_[fresh->process()];
    entry.tracee = same.lock();
    if (entry.tracee == nullptr) same = entry.tracee = fresh;
  }
  return entry;
}

void Session::stopped(pid_t thread, int status) {
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  if (event == PTRACE_EVENT_SECCOMP) return resume(thread, begins(thread), 0);
  if (signal == (SIGTRAP | 0x80)) {
    ends(thread);
    return resume(thread, false, 0);
  }
  if (event == PTRACE_EVENT_EXEC) {
    // exec ended the other threads and may have closed files.
    threads_.erase(thread);
    known(thread).tracee->forget_code();
    return resume(thread, false, 0);
  }
  const bool stops =
      signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  if (event == PTRACE_EVENT_STOP && stops) {
    ptrace(PTRACE_LISTEN, thread, nullptr, nullptr);
    return;
  }
  resume(thread, false, event != 0 ? 0 : signal);
}

// Makes the call return an error instead of running.
void answer(pid_t thread, int error) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;
  registers.orig_rax = ~0ULL;
  registers.rax = static_cast<unsigned long long>(-static_cast<long long>(error));
  ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
}

bool Session::begins(pid_t thread) {
  __ptrace_syscall_info info{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return false;
  if (info.arch != AUDIT_ARCH_X86_64 || (info.seccomp.nr & 0x40000000) != 0) {
    if (Thread& entry = known(thread); entry.call.number != ~0U) {
      entry.call.number = ~0U;
      recorder_.unrecorded("a program for 32-bit x86 or x32");
    }
    return false;
  }
  Thread& entry = known(thread);
  Call& call = entry.call;
  call = Call{};
  call.number = static_cast<unsigned>(info.seccomp.nr);
  for (std::size_t i = 0; i < 6; ++i) call.arguments[i] = info.seccomp.args[i];
  call.instruction = info.instruction_pointer;
  call.stack_pointer = info.stack_pointer;
  switch (call.number) {
    case SYS_io_uring_setup:
      recorder_.refuse("io_uring_setup");
      answer(thread, ENOSYS);
      return false;
    case SYS_io_setup:
      recorder_.refuse("io_setup");
      answer(thread, ENOSYS);
      return false;
    case SYS_ioctl:  // FICLONE and FICLONERANGE
      answer(thread, EOPNOTSUPP);
      return false;
    default:
      return recorder_.begins(*entry.tracee, call);
  }
}

void Session::ends(pid_t thread) {
  __ptrace_syscall_info info{};
  const long size = ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info);
  if (size <= 0 || info.op != PTRACE_SYSCALL_INFO_EXIT) return;
  Thread& entry = known(thread);
  recorder_.ends(*entry.tracee, entry.call, info.exit.rval);
  entry.call.written = OwnedFile();
}

// Waits until this process is traced, then executes the program.
[[noreturn]] void become(int ready, char** command) {
  char byte = 0;
  if (read(ready, &byte, 1) != 1) _exit(cannot_start);
  close(ready);
  if (!install_filter()) {
    fprintf(stderr, "this system does not allow seccomp filters: %s\n", strerror(errno));
    _exit(cannot_start);
  }
  execv(command[0], command);
  fprintf(stderr, "cannot run %s: %s\n", command[0], strerror(errno));
  _exit(cannot_start);
}

int record(const char* path, const char* folder, std::uint64_t limit_bytes, char** command) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return cannot_start;
  const pid_t program = fork();
  if (program == 0) {
    close(ready[1]);
    become(ready[0], command);
  }
  constexpr long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
                           PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                           PTRACE_O_EXITKILL;
  if (program < 0 || ptrace(PTRACE_SEIZE, program, nullptr, options) != 0) {
    fprintf(stderr, "this system does not allow ptrace: %s\n", strerror(errno));
    return cannot_start;
  }
  Log log(path, limit_bytes);
  if (!log.usable()) {
    fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
    return cannot_start;
  }
  Recorder recorder(log, folder);
  if (write(ready[1], "", 1) != 1) return cannot_start;
  const int code = Session(recorder, program).run();
  if (log.full()) {
    const int marker = open((std::string(path) + ".full").c_str(), O_WRONLY | O_CREAT, 0600);
    if (marker >= 0) close(marker);
  }
  return code;
}

}  // namespace
}  // namespace nearfar::crash::files

int main(int count, char** words) {
  if (count < 5) {
    fputs("this program is started by nearfar crash\n", stderr);
    return 3;
  }
  return nearfar::crash::files::record(words[1], words[2], strtoull(words[3], nullptr, 10),
                                       words + 4);
}
