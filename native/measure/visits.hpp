// Kernels that do one thing to each access of an order: what is done, apart from where.
#pragma once

#include <cstdint>
#include <string>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {

// What is done: traffic() of an access, line() to one line, lines() to more, and end() after a run.
// One line is done inline and by one word, which is enough to make it cross the bus: a call per
// line would fill the core's window and hide how many misses it can keep going.

struct Load {
  static constexpr bool timeable = true;
  static constexpr bool past_caches = false;
  static Traffic traffic(Bytes access) { return {.read = access}; }
  void line(const std::byte* at) { sum += *reinterpret_cast<const volatile std::uint64_t*>(at); }
  void lines(const std::byte* at, std::uint64_t count) { sum += operations.read(at, count); }
  static void end() {}

  const Operations& operations;
  std::uint64_t sum;
};

struct Store {
  static constexpr bool timeable = false;  // it ends when the store buffer has it
  static constexpr bool past_caches = false;
  static Traffic traffic(Bytes access) { return {.written = access, .owned = access}; }
  void line(std::byte* at) { *reinterpret_cast<volatile std::uint64_t*>(at) = sum; }
  void lines(std::byte* at, std::uint64_t count) { operations.write(at, count, sum); }
  static void end() {}

  const Operations& operations;
  std::uint64_t sum;
};

// Reads owned lines, so nothing more is owned than read.
struct Update {
  static constexpr bool timeable = true;
  static constexpr bool past_caches = false;
  static Traffic traffic(Bytes access) {
    return {.read = access, .written = access, .both = access};
  }
  void line(std::byte* at) {
    auto* word = reinterpret_cast<volatile std::uint64_t*>(at);
    const std::uint64_t value = *word;
    sum += value;
    *word = value + 1;
  }
  void lines(std::byte* at, std::uint64_t count) { sum += operations.update(at, count); }
  static void end() {}

  const Operations& operations;
  std::uint64_t sum;
};

// Whole lines only: one that is stored in part would be read and merged.
struct NtStore {
  static constexpr bool timeable = false;
  static constexpr bool past_caches = true;
  static Traffic traffic(Bytes access) { return {.non_temporal = access}; }
  void line(std::byte* at) { operations.nt_store(at, 1, sum); }
  void lines(std::byte* at, std::uint64_t count) { operations.nt_store(at, count, sum); }
  static void end() { stores_end(); }

  const Operations& operations;
  std::uint64_t sum;
};

template <typename Order, typename Done>
class Visits final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return Done::traffic(shape.access);
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    if (Done::past_caches && !operations.has_nt_store) return "has no stores past the caches";
    return {};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    Done done{*lane.operations, lane.position + 1};
    const std::uint64_t count = lane.shape.access_lines();
    Order order(lane);
    if (count == 1) {
      for (std::uint64_t i = 0; i < iterations; ++i) done.line(order.next());
    } else {
      for (std::uint64_t i = 0; i < iterations; ++i) done.lines(order.next(), count);
    }
    done.end();
    return done.sum;
  }
  [[nodiscard]] bool can_time_each() const override { return Done::timeable; }
  std::uint64_t each(Lane& lane, std::span<std::uint32_t> ticks,
                     std::uint64_t rest) const override {
    if (!Done::timeable) return Kernel::each(lane, ticks, rest);
    Done done{*lane.operations, lane.position + 1};
    const std::uint64_t count = lane.shape.access_lines();
    Order order(lane);
    auto next = [&] { return order.next(); };
    if (count == 1) {
      time_accesses(ticks, rest, next, [&](std::byte* at) { done.line(at); });
    } else {
      time_accesses(ticks, rest, next, [&](std::byte* at) { done.lines(at, count); });
    }
    return done.sum;
  }
};

}  // namespace nearfar::measure
