#include "run/stack_objects.cpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "profile/runtime/stack_walk.cpp"

namespace nearfar::run {

Mode mode = Mode::every;
nf_run_table* table;
nf_run_state state;

namespace {

std::atomic<unsigned> asked;
std::atomic<bool> answers;

// A return address that no table knows, on no stack: nothing is above it.
constexpr Call only_call{0x1234, UINT64_MAX};

}  // namespace

bool ask(nf_run_ask&, nf_run_answer& answer) {
  ++asked;
  while (!answers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  answer = {7, 1, 1};
  return true;
}

}  // namespace nearfar::run

using namespace nearfar::run;

TEST_CASE("a fork waits for the stack that another thread asks after, and its child knows it") {
  static nf_run_table made{};
  table = &made;
  asked = 0;
  answers = false;
  std::thread other([] { recognise(only_call, 64, false); });
  while (asked == 0) std::this_thread::yield();
  std::thread verb([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    answers = true;
  });
  recognise_before_fork();
  CHECK(answers);
  // As in a handler that runs inside ours: it must not wait for what its own thread holds.
  CHECK(recognise({0x4321, UINT64_MAX}, 64, false).target == 0);
  const pid_t child = fork();
  if (child == 0) {
    recognise_in_child();
    const bool known = recognise(only_call, 64, false).object == 7 && asked == 1;
    forget_stacks();
    recognise(only_call, 64, false);
    _exit(known && asked == 2 ? 0 : 1);
  }
  recognise_in_parent();
  other.join();
  verb.join();
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(recognise(only_call, 64, false).object == 7);
  CHECK(asked == 1);
}
