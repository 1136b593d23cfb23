#include "run/stack_objects.cpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "profile/runtime/interpreter.cpp"
#include "profile/runtime/python_allocator.cpp"
#include "profile/runtime/stack_walk.cpp"
#include "run/shared_answers.cpp"

namespace nearfar::run {

bool active = true;
__thread ThreadState this_thread;
nf_run_table* table;
nf_run_state state;

namespace {

std::atomic<unsigned> requests;
std::atomic<bool> may_answer;
bool ended;  // the verb, so nothing answers
unsigned depth = 1;

// An unknown return address without callers.
constexpr Call only_call{0x1234, UINT64_MAX};

}  // namespace

bool ask(nf_run_ask&, nf_run_answer& answer) {
  ++requests;
  while (!may_answer) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (ended) return false;
  answer = {7, 1, depth, 0};
  return true;
}

void introduce() {}

namespace {

// Two frames that are the same for all callers.
[[gnu::noinline]] Recognised allocate() { return recognise(NEARFAR_THIS_CALL, 64, false); }
[[gnu::noinline]] Recognised wrap_allocate() {
  const Recognised recognised = allocate();
  asm volatile("");  // not a jump
  return recognised;
}
[[gnu::noinline]] Recognised make_object() {
  const Recognised recognised = wrap_allocate();
  asm volatile("");
  return recognised;
}

}  // namespace

}  // namespace nearfar::run

using namespace nearfar::run;

TEST_CASE("a call whose objects have one target decides until another stack shows") {
  static nf_run_table storage{};
  table = &storage;
  may_answer = true;
  constexpr std::uint64_t address = 0x5678;
  CHECK(decided_target(address) >= undecided);
  recognise({address, UINT64_MAX}, 64, false);
  CHECK(decided_target(address) == 1);
  leave_undecided(address);
  recognise({address, UINT64_MAX}, 64, false);
  CHECK(decided_target(address) >= undecided);
  forget_stacks();
  recognise({address, UINT64_MAX}, 64, false);
  CHECK(decided_target(address) == 1);
  const char* before = nearfar_tag_set("tag");
  CHECK(decided_target(address) >= undecided);
  nearfar_tag_set(before);
  CHECK(decided_target(address) == 1);
}

TEST_CASE("before glibc 2.35 no answer is shared") {
  find_object = nullptr;
  const std::uint64_t frames[] = {reinterpret_cast<std::uint64_t>(&recognise)};
  CHECK(shared_keys(5, frames, 1).count == 0);
  start_shared_answers();
  CHECK(shared_keys(5, frames, 1).count == (nearfar::find_object_of_glibc() == nullptr ? 0 : 1));
}

TEST_CASE("another process finds the answer for a stack by files and offsets") {
  static nf_run_table storage{};
  table = &storage;
  start_shared_answers();
  const std::uint64_t frames[] = {reinterpret_cast<std::uint64_t>(&recognise),
                                  reinterpret_cast<std::uint64_t>(&printf), 0x1234};
  const SharedKeys keys = shared_keys(5, frames, 3);
  REQUIRE(keys.count == 2);
  nf_run_answer answer{};
  CHECK_FALSE(find_shared(keys, answer));
  share(keys, {7, 2, 2, 1});
  CHECK(find_shared(keys, answer));
  CHECK(answer.object == 7);
  CHECK(answer.target == 2);
  CHECK(answer.depth == 2);
  CHECK(answer.alike == 1);
  // Another size or tag, and another caller.
  CHECK_FALSE(find_shared(shared_keys(6, frames, 3), answer));
  CHECK_FALSE(find_shared(shared_keys(5, frames + 1, 2), answer));
  // An answer that needs a frame outside of files is not shared.
  share(keys, {8, 2, 3, 0});
  CHECK(answer.object == 7);
}

TEST_CASE("another process follows the way to an answer without unwinding") {
  static nf_run_table storage{};
  table = &storage;
  start_shared_answers();
  may_answer = true;
  const std::uint64_t frames[] = {reinterpret_cast<std::uint64_t>(&recognise),
                                  reinterpret_cast<std::uint64_t>(&printf)};
  std::uint64_t stack[4] = {frames[0], 0, frames[1], 0};
  const Call call{frames[0], reinterpret_cast<std::uint64_t>(&stack[1])};
  const SharedKeys keys = shared_keys(0, frames, 2);
  share(keys, {9, 2, 2, 0});
  // An answer without the way to it, as for frames of varying size: the stack is unwound.
  forget_stacks();
  unsigned before = requests;
  CHECK(recognise(call, 64, false).object == 7);
  CHECK(requests == before + 1);
  // The other way round: the table has it from the beginning.
  storage = {};
  forget_stacks();
  share_step(keys.key[0], 2 * sizeof stack[0]);
  share(keys, {9, 2, 2, 0});
  before = requests;
  CHECK(recognise(call, 64, false).object == 9);
  CHECK(recognise(call, 64, false).object == 9);  // by its own tree
  CHECK(requests == before);
  // Another caller.
  stack[2] = reinterpret_cast<std::uint64_t>(&forget_stacks);
  forget_stacks();
  CHECK(recognise(call, 64, false).object == 7);
  CHECK(requests == before + 1);
}

TEST_CASE("a stack without an answer leaves no way that hides a later answer") {
  static nf_run_table storage{};
  table = &storage;
  start_shared_answers();
  may_answer = true;
  depth = 2;
  forget_stacks();
  ended = true;
  CHECK(make_object().object == NF_RUN_NO_OBJECT);
  ended = false;
  CHECK(storage.answers_used == 0);
  forget_stacks();
  CHECK(make_object().object == 7);
  CHECK(storage.answers_used == 2);  // the answer and the way to it
  forget_stacks();
  const unsigned before = requests;
  CHECK(make_object().object == 7);
  CHECK(requests == before);
  depth = 1;
}

TEST_CASE("ways to answers leave half of the table to answers") {
  static nf_run_table storage{};
  table = &storage;
  for (std::uint64_t i = 1; i <= 4 * NF_RUN_ANSWERS; ++i) share_step(mix(1, i), 16);
  CHECK(storage.answers_used == NF_RUN_ANSWERS / 2);
  unsigned found = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const SharedKeys keys{{mix(1, i + 8 * NF_RUN_ANSWERS)}, 1};
    nf_run_answer answer{};
    const bool stored = share(keys, {7, 1, 1, 0});
    CHECK(find_shared(keys, answer) == stored);
    found += stored;
  }
  CHECK(found > 900);
}

TEST_CASE("a fork waits for another thread's pending stack, and the child inherits the answer") {
  static nf_run_table storage{};
  table = &storage;
  requests = 0;
  may_answer = false;
  std::thread other([] { recognise(only_call, 64, false); });
  while (requests == 0) std::this_thread::yield();
  std::thread verb([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    may_answer = true;
  });
  recognise_before_fork();
  CHECK(may_answer);
  // A nested call in the forking thread does not wait for its own lock.
  CHECK(recognise({0x4321, UINT64_MAX}, 64, false).target == 0);
  const pid_t child = fork();
  if (child == 0) {
    recognise_in_child();
    const bool known = recognise(only_call, 64, false).object == 7 && requests == 1;
    forget_stacks();
    recognise(only_call, 64, false);
    _exit(known && requests == 2 ? 0 : 1);
  }
  recognise_in_parent();
  other.join();
  verb.join();
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(recognise(only_call, 64, false).object == 7);
  CHECK(requests == 1);
}
