#include "base/units.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <utility>

using namespace nearfar;
using namespace nearfar::literals;

template <typename A, typename B, typename = void>
struct can_add : std::false_type {};
template <typename A, typename B>
struct can_add<A, B, std::void_t<decltype(std::declval<A>() + std::declval<B>())>>
    : std::true_type {};

TEST_CASE("sizes convert by powers of 1024") {
  CHECK(4_KiB == 4096_B);
  CHECK(1_GiB / 1_MiB == 1024);
}

TEST_CASE("bytes and nanoseconds do not mix") {
  CHECK(can_add<Bytes, Bytes>::value);
  CHECK_FALSE(can_add<Bytes, Nanoseconds>::value);
}
