#include "profile/runtime/thread_places.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <latch>
#include <thread>

using nearfar::profile::ThreadPlaces;

TEST_CASE("a place is its thread's until that thread ends") {
  static ThreadPlaces<2> places;
  std::uint32_t of_other = 2;
  std::latch claimed(1);
  std::latch checked(1);
  std::thread other([&] {
    of_other = places.claim(static_cast<std::uint32_t>(gettid()));
    claimed.count_down();
    checked.wait();
  });
  claimed.wait();
  const auto self = static_cast<std::uint32_t>(gettid());
  CHECK(places.used() == 1);
  CHECK(places.claim(self) != of_other);
  CHECK(places.claim(self) == 2);
  CHECK(places.used() == 2);
  checked.count_down();
  other.join();
  // The kernel may show a joined thread for a moment.
  std::uint32_t again = 2;
  for (int i = 0; i < 1000 && again == 2; ++i) {
    again = places.claim(self);
    if (again == 2) std::this_thread::yield();
  }
  CHECK(again == of_other);
}
