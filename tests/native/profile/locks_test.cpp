#include "profile/runtime/locks.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

using nearfar::profile::Lock;

namespace {

std::uint32_t self() { return static_cast<std::uint32_t>(gettid()); }

}  // namespace

TEST_CASE("a holder that lives is waited for, however long it is away") {
  std::uint32_t word = 0;
  std::atomic<int> inside = 0;
  std::atomic<bool> both = false;
  const auto hold = [&] {
    Lock const lock(word, self());
    if (inside.fetch_add(1) != 0) both = true;
    // As if its processor were taken away: many times what trying takes.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    inside.fetch_sub(1);
  };
  std::thread one(hold);
  std::thread other(hold);
  one.join();
  other.join();
  CHECK_FALSE(both);
  CHECK(word == 0);
}

TEST_CASE("a holder that is gone is overridden") {
  std::uint32_t gone = 0;
  std::thread([&] { gone = self(); }).join();
  std::uint32_t word = gone;
  // Another thread lives, so that locks are taken at all.
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) std::this_thread::yield();
  });
  {
    Lock const lock(word, self());
    CHECK(word == self());
  }
  done = true;
  other.join();
}

TEST_CASE("a holder that was overridden leaves the lock to the other") {
  std::uint32_t word = 0;
  const std::uint32_t other = self() + 1;
  {
    Lock const lock(word, self());
    word = other;
  }
  CHECK(word == other);
}

TEST_CASE("a thread that jumped out of a lock has it again, and gives it back") {
  std::uint32_t word = self();
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) std::this_thread::yield();
  });
  { Lock const lock(word, self()); }
  CHECK(word == 0);
  done = true;
  other.join();
}
