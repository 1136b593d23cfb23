#include "measure/isa/operations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

using namespace nearfar::measure;

namespace {

constexpr std::size_t words = 8;
constexpr std::size_t lines = 11;  // prime, because the loops work on 2, 4 and 8 lines

struct alignas(64) Buffer {
  std::array<std::uint64_t, words*(lines + 2)> word{};
  [[nodiscard]] std::byte* line(std::size_t i) {
    return reinterpret_cast<std::byte*>(word.data() + words * i);
  }
  [[nodiscard]] std::uint64_t sum()
      const {  // of the used lines, not of the guard lines around them
    std::uint64_t all = 0;
    for (std::size_t i = words; i < words * (lines + 1); ++i) all += word[i];
    return all;
  }
  // Returns whether the used words have their expected values and the guard words are zero.
  template <typename Expected>
  [[nodiscard]] bool holds(Expected expected) const {
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool used = i >= words && i < words * (lines + 1);
      if (word[i] != (used ? expected(i) : 0)) return false;
    }
    return true;
  }
};

Buffer filled(std::uint64_t salt) {
  Buffer buffer;
  for (std::size_t i = 0; i < buffer.word.size(); ++i) {
    buffer.word[i] = (salt + i) * 0x9E3779B97F4A7C15U;
  }
  return buffer;
}

std::uint64_t lower_half(std::uint64_t word) { return word & 0xffffffffU; }

}  // namespace

TEST_CASE("every instruction set loads exactly its lines") {
  for (const auto& operations : all_operations()) {
    CAPTURE(operations.name);
    Buffer source = filled(1);
    CHECK(operations.read(source.line(1), lines) == source.sum());
    CHECK(operations.read(source.line(1), 0) == 0);
    if (operations.nt_load != nullptr) {
      CHECK(operations.nt_load(source.line(1), lines) == source.sum());
    }
  }
}

TEST_CASE("every instruction set stores exactly its lines") {
  for (const auto& operations : all_operations()) {
    CAPTURE(operations.name);
    for (const auto store : {operations.write, operations.nt_store}) {
      Buffer target;
      store(target.line(1), lines, 42);
      CHECK(target.holds([](std::size_t) { return 42U; }));
    }
    Buffer changed;
    CHECK(operations.update(changed.line(1), lines) == 0);
    CHECK(changed.holds([](std::size_t) { return 1U; }));
  }
}

TEST_CASE("every instruction set computes the array kernels") {
  Buffer a = filled(1);
  Buffer b = filled(2);
  Buffer c = filled(3);
  for (const auto& operations : all_operations()) {
    CAPTURE(operations.name);
    auto check = [&](auto run, auto expected) {
      Buffer target;
      run(target.line(1));
      CHECK(target.holds(expected));
    };
    auto check_copy = [&](auto copy) {
      check([&](std::byte* to) { copy(to, a.line(1), lines); },
            [&](std::size_t i) { return a.word[i]; });
    };
    check_copy(operations.copy);
    check_copy(operations.copy_nt);
    auto check_stream = [&](auto stream) {
      check([&](std::byte* to) { stream(to, a.line(1), b.line(1), lines); },
            [&](std::size_t i) { return a.word[i] + 3 * lower_half(b.word[i]); });
    };
    check_stream(operations.stream);
    check_stream(operations.stream_nt);
    auto check_triad = [&](auto triad) {
      check([&](std::byte* to) { triad(to, a.line(1), b.line(1), c.line(1), lines); },
            [&](std::size_t i) { return (a.word[i] ^ b.word[i]) + c.word[i]; });
    };
    check_triad(operations.triad);
    check_triad(operations.triad_nt);
    check([&](std::byte* to) { operations.scale(to, a.line(1), lines); },
          [&](std::size_t i) { return 3 * lower_half(a.word[i]); });
    check([&](std::byte* to) { operations.add(to, a.line(1), b.line(1), lines); },
          [&](std::size_t i) { return a.word[i] + b.word[i]; });
  }
}

TEST_CASE("a mix reads and writes by its pattern") {
  for (const auto& operations : all_operations()) {
    CAPTURE(operations.name);
    for (const auto mixed : {operations.mixed, operations.mixed_nt}) {
      Buffer source = filled(1);
      Buffer target;
      // Fourteen accesses: eleven reads from the source's first line on, three writes.
      const std::uint64_t sum = mixed(source.line(1), target.line(1), 0b11111101111100, 14, 9);
      CHECK(sum == source.sum());
      for (std::size_t i = 0; i < target.word.size(); ++i) {
        CHECK(target.word[i] == (i >= words && i < 4 * words ? 9 : 0));
      }
    }
  }
}

TEST_CASE("gather and scatter touch the first word of eight lines") {
  alignas(64) std::array<std::uint64_t, 32 * words> memory{};
  auto* base = reinterpret_cast<std::byte*>(memory.data());
  const std::array<std::uint64_t, scattered_lines> offsets{0, 1984, 64, 640, 128, 1920, 256, 320};
  for (const auto& operations : all_operations()) {
    CAPTURE(operations.name);
    memory.fill(0);
    operations.scatter(base, offsets.data(), 5);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const bool hit = std::ranges::find(offsets, i * 8) != offsets.end();
      CHECK(memory[i] == (hit ? 5 : 0));
    }
    CHECK(operations.gather(base, offsets.data()) == 40);
  }
}

TEST_CASE("a scalar form always exists, and an unknown instruction set is refused") {
  CHECK(std::strcmp(all_operations().back().name, "scalar") == 0);
  CHECK(&operations("") == &operations());
  CHECK(&operations("scalar") == &all_operations().back());
  CHECK_THROWS_AS(operations("mmx"), std::invalid_argument);
}
