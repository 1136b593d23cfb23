// Preloaded into the checker: loaded once, it is forked for each cut, or its function called in one
// process that stays.
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

void say(Said said, int value) {
  const Answer message{said, value, *touched, 0};
  while (write(answer, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

bool take(int pipe, Cut& into) {
  ssize_t got = 0;
  do {
    got = read(pipe, &into, sizeof into);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof into);
}

// A function that ends its process has not said that the image is fine.
bool inside = false;
void refuse_exit() {
  if (!inside) return;
  fflush(nullptr);
  _exit(255);
}

int call() {
  const char* const image = getenv(NF_CRASH_IMAGE);
  inside = true;
  const int result = function(image, cut.done, cut.begun);
  inside = false;
  fflush(nullptr);
  return result;
}

[[noreturn]] void call_as_asked() {
  while (take(ask, cut)) {
    keep_private(cut.shared == 0);
    *touched = 0;
    const int result = call();
    forget_maps();
    say(Said::judged, result);
  }
  _exit(0);
}

// {done}, {begun} and {in_flight} in the checker's arguments.
char* filled(const char* word) {
  char text[3][most_in_flight * 21 + 21];
  snprintf(text[0], sizeof text[0], "%ld", static_cast<long>(cut.done));
  snprintf(text[1], sizeof text[1], "%ld", static_cast<long>(cut.begun));
  text[2][0] = '\0';
  for (unsigned i = 0, at = 0; i < cut.in_flight_count; ++i) {
    at += static_cast<unsigned>(snprintf(text[2] + at, sizeof text[2] - at, "%s%ld",
                                         i == 0 ? "" : ",", static_cast<long>(cut.in_flight[i])));
  }
  const char* const names[] = {"{done}", "{begun}", "{in_flight}"};
  const std::size_t room = strlen(word) * 4 + 3 * sizeof text[0];
  char* const whole = static_cast<char*>(malloc(room));
  std::size_t at = 0;
  while (*word != '\0' && at + sizeof text[0] < room) {
    bool found = false;
    for (int i = 0; i < 3 && !found; ++i) {
      if (strncmp(word, names[i], strlen(names[i])) != 0) continue;
      at += static_cast<std::size_t>(snprintf(whole + at, room - at, "%s", text[i]));
      word += strlen(names[i]);
      found = true;
    }
    if (!found) whole[at++] = *word++;
  }
  whole[at] = '\0';
  return whole;
}

void fill(char** words) {
  for (char** word = words; *word != nullptr; ++word) {
    if (strchr(*word, '{') != nullptr) *word = filled(*word);
  }
}

// Returns in the child that is to run the checker's main.
void serve(char** words) {
  signal(SIGPIPE, SIG_IGN);
  say(Said::ready, function != nullptr);
  while (take(control, cut)) {
    const pid_t child = fork();
    if (child == 0) {
      *touched = 0;
      // Its own group, so that what it starts ends with it.
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGPIPE, SIG_DFL);
      if (function != nullptr) call_as_asked();
      keep_private(cut.shared == 0);
      fill(words);
      return;
    }
    if (child < 0) _exit(1);
    setpgid(child, child);
    say(Said::forked, child);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    say(Said::ended, status);
  }
  _exit(0);
}

// The numbers behind one another, with commas; returns how many.
int numbers(const char* text, std::int64_t* into, int most) {
  int count = 0;
  while (text != nullptr && *text != '\0' && count < most) {
    char* end = nullptr;
    into[count++] = strtol(text, &end, 10);
    text = *end == ',' ? end + 1 : nullptr;
  }
  return count;
}

void begin_serving(char** words) {
  std::int64_t pipes[3];
  const bool named = numbers(getenv(NF_CRASH_SERVE), pipes, 3) == 3;
  unsetenv(NF_CRASH_SERVE);
  if (!named) return;
  control = static_cast<int>(pipes[0]);
  ask = static_cast<int>(pipes[1]);
  answer = static_cast<int>(pipes[2]);
  for (const int pipe : {control, ask, answer}) fcntl(pipe, F_SETFD, FD_CLOEXEC);
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) _exit(1);
  // Shared with the children, which may end without a word.
  touched = static_cast<unsigned*>(page);
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
      fprintf(stderr, "%s holds no NEARFAR_CRASH_CHECKER\n", library);
      return 3;
    }
  }
  if (function != nullptr) atexit(refuse_exit);
  if (const char* once = getenv(NF_CRASH_ONCE); once != nullptr && function != nullptr) {
    std::int64_t operations[2 + most_in_flight];
    const int got = numbers(once, operations, 2 + most_in_flight);
    cut.done = got > 0 ? operations[0] : -1;
    cut.begun = got > 1 ? operations[1] : -1;
    for (int i = 2; i < got; ++i) cut.in_flight[cut.in_flight_count++] = operations[i];
    const int result = call();
    // An exit code has 8 bits, and whatever is not 0 is a refusal.
    _exit(result == 0 ? 0 : (result & 0xff) == 0 ? 255 : result & 0xff);
  }
  if (getenv(NF_CRASH_SERVE) != nullptr) begin_serving(words);
  const int result = real_main(count, words, variables);
  // Handlers of exit may still start programs; nothing is asked of them.
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
