#include "measure/lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>

using namespace nearfar::measure;

namespace {

constexpr std::size_t words = 8;
constexpr std::size_t lines = 7;  // odd: the loops work on pairs

struct alignas(64) Buffer {
  std::array<std::uint64_t, words*(lines + 2)> word{};
  [[nodiscard]] std::byte* line(std::size_t i) {
    return reinterpret_cast<std::byte*>(word.data() + words * i);
  }
};

}  // namespace

TEST_CASE("every instruction set touches its lines, all of them, and no others") {
  for (const auto& operations : all_line_operations()) {
    CAPTURE(operations.name);
    Buffer source;
    for (std::size_t i = 0; i < source.word.size(); ++i) source.word[i] = 1ULL << (i % 61);
    std::uint64_t sum = 0;
    for (std::size_t i = words; i < words * (lines + 1); ++i) sum += source.word[i];
    CHECK(operations.read(source.line(1), lines) == sum);
    CHECK(operations.read(source.line(1), 0) == 0);

    for (const auto store : {operations.write, operations.nt_store}) {
      Buffer target;
      store(target.line(1), lines, 42);
      for (std::size_t i = 0; i < target.word.size(); ++i) {
        CHECK(target.word[i] == (i >= words && i < words * (lines + 1) ? 42 : 0));
      }
    }

    Buffer target;
    CHECK(operations.copy(target.line(1), source.line(1), lines) == sum);
    CHECK(std::memcmp(target.line(1), source.line(1), lines * 64) == 0);
    CHECK(target.word[0] == 0);
    CHECK(target.word[words * (lines + 1)] == 0);
  }
}

TEST_CASE("there is always a form that needs no extension") {
  CHECK(std::strcmp(all_line_operations().back().name, "scalar") == 0);
}
