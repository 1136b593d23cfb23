// Server library, preloaded into the checker, which is loaded only once. For each cut, the server
// forks the checker, or calls its function in a persistent process.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "crash/checker/batch.hpp"
#include "crash/checker/maps.hpp"
#include "crash/checker/messages.hpp"

using namespace nearfar::crash;

namespace {

using Function = int(const char*, long, long);
using Main = int(int, char**, char**);

Function* function = nullptr;
Main* real_main = nullptr;
Cut cut;
int control = -1;
int ask = -1;
int answer = -1;
Batch* batch = nullptr;

void reply(CheckerStatus status, int value, unsigned accepted = 0) {
  const Answer message{status, value, *may_have_changed, accepted};
  while (write(answer, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

bool receive(int pipe, Cut& into) {
  ssize_t received = 0;
  do {
    received = read(pipe, &into, sizeof into);
  } while (received < 0 && errno == EINTR);
  return received == static_cast<ssize_t>(sizeof into);
}

// A checker function that exits its process has not accepted the image.
bool in_check = false;
void refuse_exit() {
  if (!in_check) return;
  fflush(nullptr);
  _exit(255);
}

int call() {
  const char* const image = getenv(NF_CRASH_IMAGE);
  in_check = true;
  const int result = function(image, cut.done, cut.begun);
  in_check = false;
  fflush(nullptr);
  return result;
}

[[noreturn]] void serve_calls() {
  keep_read_only_maps();
  while (receive(ask, cut)) {
    keep_private(cut.shared == 0);
    *may_have_changed = 0;
    const Judged judged = judge_batch(batch, cut.batch, call);
    forget_maps();
    reply(CheckerStatus::judged, judged.result, judged.accepted);
  }
  _exit(0);
}

// {done}, {begun} and {in_flight} in the checker's arguments.
char* substituted(const char* word) {
  char text[3][max_in_flight * 21 + 21];
  snprintf(text[0], sizeof text[0], "%ld", static_cast<long>(cut.done));
  snprintf(text[1], sizeof text[1], "%ld", static_cast<long>(cut.begun));
  text[2][0] = '\0';
  for (unsigned i = 0, at = 0; i < cut.in_flight_count; ++i) {
    at += static_cast<unsigned>(snprintf(text[2] + at, sizeof text[2] - at, "%s%ld",
                                         i == 0 ? "" : ",", static_cast<long>(cut.in_flight[i])));
  }
  const char* const names[] = {"{done}", "{begun}", "{in_flight}"};
  const std::size_t capacity = strlen(word) * 4 + 3 * sizeof text[0];
  char* const whole = static_cast<char*>(malloc(capacity));
  std::size_t at = 0;
  while (*word != '\0' && at + sizeof text[0] < capacity) {
    bool replaced = false;
    for (int i = 0; i < 3 && !replaced; ++i) {
      if (strncmp(word, names[i], strlen(names[i])) != 0) continue;
      at += static_cast<std::size_t>(snprintf(whole + at, capacity - at, "%s", text[i]));
      word += strlen(names[i]);
      replaced = true;
    }
    if (!replaced) whole[at++] = *word++;
  }
  whole[at] = '\0';
  return whole;
}

void fill(char** words) {
  for (char** word = words; *word != nullptr; ++word) {
    if (strchr(*word, '{') != nullptr) *word = substituted(*word);
  }
}

// Returns in the child only, which then runs the checker's main.
void serve(char** words) {
  signal(SIGPIPE, SIG_IGN);
  reply(CheckerStatus::ready, function != nullptr);
  while (receive(control, cut)) {
    const pid_t child = fork();
    if (child == 0) {
      *may_have_changed = 0;
      // A process group of its own, so that the processes that it starts end with it.
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGPIPE, SIG_DFL);
      if (function != nullptr) serve_calls();
      keep_private(cut.shared == 0);
      fill(words);
      return;
    }
    if (child < 0) _exit(1);
    setpgid(child, child);
    reply(CheckerStatus::forked, child);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    reply(CheckerStatus::ended, status);
  }
  _exit(0);
}

// Parses numbers separated by commas; returns their count.
int numbers(const char* text, std::int64_t* into, int max_count) {
  int count = 0;
  while (text != nullptr && *text != '\0' && count < max_count) {
    char* end = nullptr;
    into[count++] = strtol(text, &end, 10);
    text = *end == ',' ? end + 1 : nullptr;
  }
  return count;
}

void start_server(char** words) {
  std::int64_t pipes[4];
  const bool has_pipes = numbers(getenv(NF_CRASH_SERVE), pipes, 4) == 4;
  unsetenv(NF_CRASH_SERVE);
  if (!has_pipes) return;
  control = static_cast<int>(pipes[0]);
  ask = static_cast<int>(pipes[1]);
  answer = static_cast<int>(pipes[2]);
  for (const int pipe : {control, ask, answer}) fcntl(pipe, F_SETFD, FD_CLOEXEC);
  void* const memory = mmap(nullptr, max_batch_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                            static_cast<int>(pipes[3]), 0);
  close(static_cast<int>(pipes[3]));
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || memory == MAP_FAILED) _exit(1);
  batch = static_cast<Batch*>(memory);
  // Memory shared with the children, which may end without an answer.
  may_have_changed = static_cast<unsigned*>(page);
  never_track = may_have_changed + 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  serve(words);
}

int before_main(int count, char** words, char** variables) {
  if (const char* library = getenv(NF_CRASH_CHECKER_LIBRARY); library != nullptr) {
    if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      return 3;
    }
    if (function == nullptr) {
      fprintf(stderr, "%s contains no NEARFAR_CRASH_CHECKER\n", library);
      return 3;
    }
  }
  if (function != nullptr) atexit(refuse_exit);
  if (const char* once = getenv(NF_CRASH_ONCE); once != nullptr && function != nullptr) {
    std::int64_t operations[2 + max_in_flight];
    const int count_given = numbers(once, operations, 2 + max_in_flight);
    cut.done = count_given > 0 ? operations[0] : -1;
    cut.begun = count_given > 1 ? operations[1] : -1;
    for (int i = 2; i < count_given; ++i) cut.in_flight[cut.in_flight_count++] = operations[i];
    const int result = call();
    // An exit code has 8 bits, so any refusal becomes a nonzero code that fits.
    _exit(result == 0 ? 0 : (result & 0xff) == 0 ? 255 : result & 0xff);
  }
  if (getenv(NF_CRASH_SERVE) != nullptr) start_server(words);
  const int result = real_main(count, words, variables);
  // Exit handlers may still start programs, which has no effect any more.
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void nearfar_crash_checker(Function* check) { function = check; }

unsigned nearfar_crash_in_flight(const long** operations) {
  static_assert(sizeof(long) == sizeof cut.in_flight[0], "x86-64");
  *operations = reinterpret_cast<const long*>(cut.in_flight);
  return cut.in_flight_count;
}

int __libc_start_main(Main* main, int count, char** words, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  real_main = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const real = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(before_main, count, words, init, fini, loader_fini, stack_end);
}
}
#pragma GCC visibility pop
