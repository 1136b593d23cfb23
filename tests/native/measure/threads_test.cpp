#include "measure/threads.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/os.hpp"

using namespace nearfar::measure;

namespace {

constexpr unsigned missing_cpu = 1000000;

unsigned current_cpu() { return static_cast<unsigned>(sched_getcpu()); }

}  // namespace

TEST_CASE("a thread runs one body after another") {
  const unsigned cpu = current_cpu();
  std::set<pid_t> seen;
  for (int i = 0; i < 20; ++i) {
    pid_t thread = 0;
    Threads threads;
    threads.start(cpu, [&] { thread = gettid(); });
    threads.join();
    CHECK(thread != gettid());
    seen.insert(thread);
  }
  // One that an earlier test left spinning may become free meanwhile.
  CHECK(seen.size() <= 2);
}

TEST_CASE("bodies on one CPU run at the same time") {
  const unsigned cpu = current_cpu();
  Threads threads;
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) {
    threads.start(cpu, [&] {
      threads.arrive();
      threads.sleep_until(3);
      ++ran;
    });
  }
  threads.join();
  CHECK(ran == 3);
}

TEST_CASE("the first failure stops all and is thrown, and the threads run on") {
  const unsigned cpu = current_cpu();
  for (int i = 0; i < 2; ++i) {
    Threads threads;
    threads.start(cpu, [&] {
      while (!threads.stopping()) relax();
    });
    threads.start(cpu, [] { throw std::runtime_error("failed"); });
    CHECK_THROWS_WITH_AS(threads.join(), "failed", std::runtime_error);
  }
  Threads threads;
  threads.spin(missing_cpu);
  threads.sleep_until(1);
  CHECK(threads.stopping());
  CHECK_THROWS_AS(threads.join(), std::system_error);
}

TEST_CASE("a spinning thread spins until its creator stops") {
  const unsigned cpu = current_cpu();
  for (int i = 0; i < 20; ++i) {
    Threads threads;
    threads.spin(cpu);
    threads.sleep_until(1);
    CHECK(!threads.stopping());
  }
  // Nothing waits for spinning threads: each ends when it next runs.
  bool spins = true;
  for (int i = 0; spins && i < 1000; ++i) {
    const auto before = nearfar::os::read_clock(CLOCK_PROCESS_CPUTIME_ID);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    spins = nearfar::os::read_clock(CLOCK_PROCESS_CPUTIME_ID) - before > nearfar::Nanoseconds{5e6};
  }
  CHECK(!spins);
}

TEST_CASE("a forked child has threads of its own") {
  const unsigned cpu = current_cpu();
  const auto run = [&] {
    bool ran = false;
    Threads threads;
    threads.start(cpu, [&] { ran = true; });
    threads.join();
    return ran;
  };
  REQUIRE(run());
  const pid_t child = fork();
  if (child == 0) _exit(run() ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
