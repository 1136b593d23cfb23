// Robin Hood hashing with linear probing, without chains. Slots contain mixed keys, whose top bits
// are their home; so the rule (the entry farther from home stays) keeps the table sorted by mixed
// key. Extra slots after the last home take displaced entries: nothing wraps around.
//
// Old slots are written only by set(). A slot with mixed key 0 is free; the key that mixes to 0 is
// stored in the header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/hash.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class HashRobinHood {
  struct Slot {
    std::uint64_t mixed_key;
    std::uint64_t word;
  };

 public:
  struct Header {  // zero: an empty map
    Ref<Slot> slots;
    std::uint64_t bits;      // log2 of homes
    std::uint64_t overflow;  // slots after the last home
    std::uint64_t count;     // in slots
    std::uint64_t has_zero;
    std::uint64_t zero_word;
  };

  HashRobinHood(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  // Call it before each put(), outside of any change: it may rebuild the table. The table grows if
  // half of the homes are used, or if no slot after the key's position is free.
  void make_room(std::uint64_t key) {
    const std::uint64_t mixed_key_wanted = mixed(key);
    if (!header_.slots) rebuild(first_bits);
    while (2 * header_.count >= 1ULL << header_.bits ||
           free_from(place_of(mixed_key_wanted)) == end()) {
      rebuild(header_.bits + 1);
    }
  }

  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    const std::uint64_t mixed_key_wanted = mixed(key);
    if (mixed_key_wanted == 0) return put_zero(word);
    Slot* slots = memory_.at(header_.slots);
    const std::uint64_t place = place_of(mixed_key_wanted);
    if (slots[place].mixed_key == mixed_key_wanted) {
      const std::uint64_t old = slots[place].word;
      memory_.change([&] { memory_.set(slots[place].word, word); });
      return old;
    }
    memory_.change([&] {
      for (std::uint64_t i = free_from(place); i > place; --i) move(slots[i], slots[i - 1]);
      move(slots[place], {mixed_key_wanted, word});
      memory_.set(header_.count, header_.count + 1);
    });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    const std::uint64_t mixed_key_wanted = mixed(key);
    if (mixed_key_wanted == 0) {
      if (header_.has_zero == 0) return std::nullopt;
      return header_.zero_word;
    }
    if (!header_.slots) return std::nullopt;
    const Slot& slot = memory_.at(header_.slots)[place_of(mixed_key_wanted)];
    if (slot.mixed_key != mixed_key_wanted) return std::nullopt;
    return slot.word;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    const std::uint64_t mixed_key_wanted = mixed(key);
    const std::optional<std::uint64_t> old = get(key);
    if (!old) return old;
    if (mixed_key_wanted == 0) {
      memory_.change([&] { memory_.set(header_.has_zero, std::uint64_t{0}); });
      return old;
    }
    Slot* slots = memory_.at(header_.slots);
    memory_.change([&] {
      // Displaced entries after it move back by one.
      std::uint64_t i = place_of(mixed_key_wanted);
      while (slots[i + 1].mixed_key != 0 && home(slots[i + 1].mixed_key) <= i) {
        move(slots[i], slots[i + 1]);
        ++i;
      }
      memory_.set(slots[i].mixed_key, std::uint64_t{0});
      memory_.set(header_.count, header_.count - 1);
    });
    return old;
  }

  // Frees the table of an empty map.
  void drop_table() {
    if (!header_.slots) return;
    memory_.drop(header_.slots, total_slots() * sizeof(Slot));
    header_ = {};
  }

  template <typename F>
  void foreach (F&& f) const {
    if (header_.has_zero != 0) f(unmixed(0), header_.zero_word);
    for (std::uint64_t i = 0; header_.slots && i < total_slots(); ++i) {
      const Slot& slot = memory_.at(header_.slots)[i];
      if (slot.mixed_key != 0) f(unmixed(slot.mixed_key), slot.word);
    }
  }

  void check() const {
    std::uint64_t seen = 0;
    std::uint64_t last = 0;
    std::uint64_t gap_end = 0;  // all slots from here to the current one are used
    for (std::uint64_t i = 0; header_.slots && i < total_slots(); ++i) {
      const std::uint64_t here = memory_.at(header_.slots)[i].mixed_key;
      if (here == 0) {
        gap_end = i + 1;
        continue;
      }
      require(here > last, "slots are not ordered by hash");
      require(home(here) >= gap_end && home(here) <= i, "there is a gap before an entry");
      last = here;
      ++seen;
    }
    require(seen == header_.count, "the number of entries is wrong");
  }

 private:
  static constexpr std::uint64_t first_bits = 4;
  // With half of the homes used, longer runs are rarer than 1 in 10^9 tables; such a run makes the
  // table grow.
  static constexpr std::uint64_t extra_slots = 64;

  [[nodiscard]] std::uint64_t home(std::uint64_t mixed_key) const {
    return mixed_key >> (64 - header_.bits);
  }
  [[nodiscard]] std::uint64_t end() const { return (1ULL << header_.bits) + header_.overflow; }
  // Homes, extra slots and a slot that is always free.
  [[nodiscard]] std::uint64_t total_slots() const { return end() + 1; }
  [[nodiscard]] std::uint64_t free_from(std::uint64_t place) const {
    const Slot* slots = memory_.at(header_.slots);
    while (slots[place].mixed_key != 0) ++place;  // the last slot is free
    return place;
  }
  // Returns the key's position, or the one where it belongs.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t mixed_key_wanted) const {
    const Slot* slots = memory_.at(header_.slots);
    std::uint64_t i = home(mixed_key_wanted);
    while (slots[i].mixed_key != 0 && slots[i].mixed_key < mixed_key_wanted) ++i;
    return i;
  }
  void move(Slot& to, Slot from) {
    memory_.set(to.mixed_key, from.mixed_key);
    memory_.set(to.word, from.word);
  }

  std::optional<std::uint64_t> put_zero(std::uint64_t word) {
    std::optional<std::uint64_t> old;
    if (header_.has_zero != 0) old = header_.zero_word;
    memory_.change([&] {
      memory_.set(header_.has_zero, std::uint64_t{1});
      memory_.set(header_.zero_word, word);
    });
    return old;
  }

  // Calls f with each slot and its position in a table of 2^bits homes.
  template <typename F>
  void lay_out(std::uint64_t bits, F&& f) const {
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; header_.slots && i < end(); ++i) {
      const Slot& slot = memory_.at(header_.slots)[i];
      if (slot.mixed_key == 0) continue;
      next = std::max(next, slot.mixed_key >> (64 - bits));
      f(next++, slot);
    }
  }

  // Writes a new table, which nothing refers to yet, then replaces the old one.
  void rebuild(std::uint64_t bits) {
    std::uint64_t last = 0;
    lay_out(bits, [&](std::uint64_t place, const Slot&) { last = place; });
    while (last >= (1ULL << bits) + extra_slots) {
      ++bits;
      lay_out(bits, [&](std::uint64_t place, const Slot&) { last = place; });
    }
    const std::uint64_t slots = (1ULL << bits) + extra_slots + 1;
    memory_.change([&] {
      const Ref<Slot> made = memory_.template make<Slot>(slots * sizeof(Slot));
      Slot* new_slots = memory_.at(made);
      std::memset(new_slots, 0, slots * sizeof(Slot));
      lay_out(bits, [&](std::uint64_t place, const Slot& slot) { new_slots[place] = slot; });
      memory_.persist_new(new_slots, slots * sizeof(Slot));
      if (header_.slots) memory_.drop(header_.slots, total_slots() * sizeof(Slot));
      memory_.set(header_.slots, made);
      memory_.set(header_.bits, bits);
      memory_.set(header_.overflow, extra_slots);
    });
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
