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

TEST_CASE("a lock waits for a live holder, however long it sleeps") {
  std::uint32_t word = 0;
  std::atomic<int> inside = 0;
  std::atomic<bool> both = false;
  const auto hold = [&] {
    Lock const lock(word, self());
    if (inside.fetch_add(1) != 0) both = true;
    // As if preempted: many times as long as an attempt takes.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    inside.fetch_sub(1);
  };
  std::thread first(hold);
  std::thread second(hold);
  first.join();
  second.join();
  CHECK_FALSE(both);
  CHECK(word == 0);
}

TEST_CASE("a lock of an ended thread is overridden") {
  std::uint32_t gone = 0;
  std::thread([&] { gone = self(); }).join();
  std::uint32_t word = gone;
  // Locks are only taken while another thread runs.
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

TEST_CASE("an overridden holder leaves the lock to the new holder") {
  std::uint32_t word = 0;
  const std::uint32_t other = self() + 1;
  {
    Lock const lock(word, self());
    word = other;
  }
  CHECK(word == other);
}

TEST_CASE("a thread that jumped out of a lock takes it again and releases it") {
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
