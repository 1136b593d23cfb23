// Starts a checker and reads its output.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "crash/explore/checker.hpp"

extern char** environ;

namespace nearfar::crash {

Output::Output(std::size_t keep) : keep_(keep) {
  if (pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe");
  fcntl(ends_[0], F_SETFL, O_NONBLOCK);
}

Output::~Output() {
  close(ends_[0]);
  close_write_end();
}

void Output::close_write_end() {
  if (ends_[1] >= 0) close(ends_[1]);
  ends_[1] = -1;
}

void Output::drain() {
  char piece[1 << 16];
  for (;;) {
    const ssize_t received = read(ends_[0], piece, sizeof piece);
    ended_ = received == 0;
    if (received <= 0) return;
    text_.append(piece, static_cast<std::size_t>(received));
    if (text_.size() > 2 * keep_) text_.erase(0, text_.size() - keep_);
  }
}

std::string Output::take() {
  if (text_.size() > keep_) text_.erase(0, text_.size() - keep_);
  std::string text;
  text.swap(text_);
  return text;
}

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& variables,
            int out, int in) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  environment.reserve(variables.size() + 64);
  for (const std::string& variable : variables) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  for (char** at = environ; *at != nullptr; ++at) {
    bool replaced = false;
    for (const std::string& variable : variables) {
      const std::size_t name = variable.find('=') + 1;
      replaced = replaced || strncmp(*at, variable.c_str(), name) == 0;
    }
    if (!replaced) environment.push_back(*at);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in < 0) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, in, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, out, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(),
                                 environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw std::runtime_error("cannot run the checker " + words[0] + ": " + strerror(error));
  }
  return child;
}

std::string symptom_of(int status) {
  if (WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    return code == 0 ? "" : "exit " + std::to_string(code);
  }
  const char* name = sigabbrev_np(WTERMSIG(status));
  return name == nullptr ? "signal " + std::to_string(WTERMSIG(status)) : std::string("SIG") + name;
}

int await(int file, void* into, std::size_t bytes, Output& output, std::int64_t deadline_ms) {
  for (;;) {
    pollfd files[] = {{file, POLLIN, 0}, {output.read_end(), POLLIN, 0}};
    const std::int64_t left = deadline_ms - now_ms();
    const int ready = poll(files, 2, left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (files[1].revents != 0) output.drain();
    if (files[0].revents != 0) {
      if (into == nullptr) return 1;
      const ssize_t received = read(file, into, bytes);
      if (received < 0 && errno == EINTR) continue;
      return received == static_cast<ssize_t>(bytes) ? 1 : -1;
    }
    if (left <= 0) return 0;
  }
}

namespace {

// Returns the time that a process and its descendants have waited for a processor so far: proc(5),
// schedstat.
std::int64_t waited_ms(pid_t process, int depth = 0) {
  constexpr int max_depth = 8;
  const std::string folder = "/proc/" + std::to_string(process);
  long long running_ns = 0;
  long long waiting_ns = 0;
  std::ifstream(folder + "/schedstat") >> running_ns >> waiting_ns;
  std::int64_t sum = waiting_ns / 1000000;
  std::ifstream children(folder + "/task/" + std::to_string(process) + "/children");
  for (pid_t child = 0; depth < max_depth && children >> child;) sum += waited_ms(child, depth + 1);
  return sum;
}

}  // namespace

int await_checker(int file, void* into, std::size_t bytes, Output& output, int timeout_ms,
                  pid_t checker, std::int64_t begin) {
  std::int64_t deadline = begin + timeout_ms;
  for (;;) {
    const int result = await(file, into, bytes, output, deadline);
    if (result != 0) return result;
    // A checker that lives longer than one check has also waited before it, so the wait is limited
    // to the time since the start.
    const std::int64_t later = begin + timeout_ms + std::min(waited_ms(checker), now_ms() - begin);
    if (later - deadline < std::max(timeout_ms / 10, 1)) return 0;
    deadline = later;
  }
}

}  // namespace nearfar::crash
