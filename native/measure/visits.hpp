// Kernels that perform one action at each access of an order.
#pragma once

#include <cstdint>
#include <string>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {

// Actions have traffic() of an access, line() for a single line, lines() for more than one, and
// end() after a run. line() is inlined and touches one word, which is enough to move the line: a
// function call per line would fill the core's window and hide how many misses it overlaps.

struct Load {
  static constexpr bool timeable = true;
  static constexpr bool non_temporal = false;
  static Traffic traffic(Bytes access) { return {.read = access}; }
  void line(const std::byte* at) { sum += *reinterpret_cast<const volatile std::uint64_t*>(at); }
  void lines(const std::byte* at, std::uint64_t count) { sum += operations.read(at, count); }
  static void end() {}

  const Operations& operations;
  std::uint64_t sum;
};

struct Store {
  static constexpr bool timeable = false;  // a store ends when the store buffer accepts it
  static constexpr bool non_temporal = false;
  static Traffic traffic(Bytes access) { return {.written = access, .owned = access}; }
  void line(std::byte* at) { *reinterpret_cast<volatile std::uint64_t*>(at) = sum; }
  void lines(std::byte* at, std::uint64_t count) { operations.write(at, count, sum); }
  static void end() {}

  const Operations& operations;
  std::uint64_t sum;
};

// The read already fetches the line, so it adds no read for ownership.
struct Update {
  static constexpr bool timeable = true;
  static constexpr bool non_temporal = false;
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

// Only whole lines are stored: a partially stored line would be read and merged.
struct NtStore {
  static constexpr bool timeable = false;
  static constexpr bool non_temporal = true;
  static Traffic traffic(Bytes access) { return {.non_temporal = access}; }
  void line(std::byte* at) { operations.nt_store(at, 1, sum); }
  void lines(std::byte* at, std::uint64_t count) { operations.nt_store(at, count, sum); }
  static void end() { store_fence(); }

  const Operations& operations;
  std::uint64_t sum;
};

template <typename Order, typename Action>
class Visits final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return Action::traffic(shape.access);
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    if (Action::non_temporal && !operations.has_nt_store) return "has no non-temporal stores";
    return {};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    Action action{*lane.operations, lane.position + 1};
    const std::uint64_t count = lane.shape.access_lines();
    Order order(lane);
    if (count == 1) {
      for (std::uint64_t i = 0; i < iterations; ++i) action.line(order.next());
    } else {
      for (std::uint64_t i = 0; i < iterations; ++i) action.lines(order.next(), count);
    }
    action.end();
    return action.sum;
  }
  [[nodiscard]] bool can_time_each() const override { return Action::timeable; }
  std::uint64_t each(Lane& lane, std::span<std::uint32_t> ticks,
                     std::uint64_t rest) const override {
    if (!Action::timeable) return Kernel::each(lane, ticks, rest);
    Action action{*lane.operations, lane.position + 1};
    const std::uint64_t count = lane.shape.access_lines();
    Order order(lane);
    auto next = [&] { return order.next(); };
    if (count == 1) {
      time_accesses(ticks, rest, next, [&](std::byte* at) { action.line(at); });
    } else {
      time_accesses(ticks, rest, next, [&](std::byte* at) { action.lines(at, count); });
    }
    return action.sum;
  }
};

}  // namespace nearfar::measure
