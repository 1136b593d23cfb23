// Hash map with a chain of entries per bucket, with transactions (hash-tx) or published sets of
// words (hash-atomic): both write only single words of old objects.
//
// It grows fourfold at one entry per bucket: fewer rebuilds than doubling, so fewer rewritten
// words. An entry that keeps its successor is not written at all.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "bench/maps/broken.hpp"
#include "bench/maps/hash.hpp"
#include "bench/maps/memory.hpp"

namespace nearfar::bench {

template <typename Memory>
class HashChained {
  struct Entry {
    std::uint64_t key;
    std::uint64_t word;
    Ref<Entry> next;
  };
  using Bucket = Ref<Entry>;

 public:
  struct Header {  // zero: an empty map
    Ref<Bucket> buckets;
    std::uint64_t bits;  // log2 of buckets
    std::uint64_t count;
  };

  HashChained(Memory& memory, Header& header) : memory_(memory), header_(header) {}

  // Call it before each put(), outside of any change: it may rebuild the table.
  void make_room(std::uint64_t) {
    if (!header_.buckets) {
      memory_.change([&] { grow(first_bits); });
    } else if (header_.count >= 1ULL << header_.bits) {
      memory_.change([&] { grow(header_.bits + growth_bits); });
    }
  }

  // Sets the word of `key`; returns the previous word, if any.
  std::optional<std::uint64_t> put(std::uint64_t key, std::uint64_t word) {
    Bucket& bucket = bucket_of(key);
    if (Entry* entry = find(bucket, key)) {
      const std::uint64_t old = entry->word;
      memory_.change([&] { memory_.set(entry->word, word); });
      return old;
    }
    memory_.change([&] {
      const Ref<Entry> made = memory_.template make<Entry>();
      *memory_.at(made) = {key, word, bucket};
      memory_.persist_new(memory_.at(made), sizeof(Entry));
      memory_.set(bucket, made);
      memory_.set(header_.count, header_.count + 1);
    });
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    if (!header_.buckets) return std::nullopt;
    const Entry* entry = find(bucket_of(key), key);
    if (entry == nullptr) return std::nullopt;
    return entry->word;
  }

  std::optional<std::uint64_t> remove(std::uint64_t key) {
    if (!header_.buckets) return std::nullopt;
    Ref<Entry>* link = &bucket_of(key);
    while (*link && memory_.at(*link)->key != key) link = &memory_.at(*link)->next;
    if (!*link) return std::nullopt;
    const Ref<Entry> removed = *link;
    const Entry entry = *memory_.at(removed);
    memory_.change([&] {
      memory_.set(*link, entry.next);
      memory_.set(header_.count, header_.count - 1);
      memory_.drop(removed);
    });
    return entry.word;
  }

  // Frees the table of an empty map.
  void drop_table() {
    if (!header_.buckets) return;
    memory_.drop(header_.buckets, sizeof(Bucket) << header_.bits);
    header_ = {};
  }

  template <typename F>
  void foreach (F&& f) const {
    if (!header_.buckets) return;
    const Bucket* buckets = memory_.at(header_.buckets);
    for (std::uint64_t i = 0; i < 1ULL << header_.bits; ++i) {
      for (Ref<Entry> e = buckets[i]; e; e = memory_.at(e)->next) {
        f(memory_.at(e)->key, memory_.at(e)->word);
      }
    }
  }

  void check() const {
    if (!header_.buckets) return require(header_.count == 0, "there are entries but no buckets");
    const Bucket* buckets = memory_.at(header_.buckets);
    std::uint64_t seen = 0;
    for (std::uint64_t i = 0; i < 1ULL << header_.bits; ++i) {
      for (Ref<Entry> e = buckets[i]; e; e = memory_.at(e)->next) {
        require(index(memory_.at(e)->key, header_.bits) == i, "an entry is in the wrong bucket");
        require(++seen <= header_.count, "there are more entries than counted, or a cycle");
      }
    }
    require(seen == header_.count, "there are fewer entries than counted");
  }

 private:
  static constexpr std::uint64_t first_bits = 4;
  static constexpr std::uint64_t growth_bits = 2;

  static std::uint64_t index(std::uint64_t key, std::uint64_t bits) {
    return mixed(key) >> (64 - bits);
  }
  Bucket& bucket_of(std::uint64_t key) const {
    return memory_.at(header_.buckets)[index(key, header_.bits)];
  }
  Entry* find(Bucket bucket, std::uint64_t key) const {
    for (Ref<Entry> e = bucket; e;) {
      Entry* entry = memory_.at(e);
      if (entry->key == key) return entry;
      e = entry->next;
    }
    return nullptr;
  }

  // Moves every entry to a table of 2^bits buckets. The top bits select the bucket, so the entries
  // of an old bucket go to adjacent ones and keep their order.
  void grow(std::uint64_t bits) {
    const std::size_t bytes = sizeof(Bucket) << bits;
    const Ref<Bucket> made = memory_.template make<Bucket>(bytes);
    Bucket* new_buckets = memory_.at(made);
    std::memset(static_cast<void*>(new_buckets), 0, bytes);
    if (header_.buckets) {
      const Ref<Bucket> old = header_.buckets;
      const std::uint64_t old_bits = header_.bits;
      for (std::uint64_t i = 0; i < 1ULL << old_bits; ++i) {
        split(memory_.at(old)[i], new_buckets + (i << (bits - old_bits)), bits);
      }
      memory_.drop(old, sizeof(Bucket) << old_bits);
    }
    memory_.persist_new(new_buckets, bytes);
    memory_.set(header_.buckets, made);
    memory_.set(header_.bits, bits);
  }

  void split(Ref<Entry> chain, Bucket* new_buckets, std::uint64_t bits) {
    constexpr std::uint64_t parts = 1U << growth_bits;
    Entry* last[parts] = {};
    Ref<Entry> last_next[parts] = {};  // current value of last's next
    while (chain) {
      Entry* entry = memory_.at(chain);
      const Ref<Entry> next = entry->next;
      const std::uint64_t part = index(entry->key, bits) % parts;
      if (last[part] == nullptr) {
        new_buckets[part] = chain;
      } else if (last_next[part] != chain) {
        memory_.set(last[part]->next, chain);
      }
      last[part] = entry;
      last_next[part] = next;
      chain = next;
    }
    for (std::uint64_t part = 0; part < parts; ++part) {
      if (last[part] != nullptr && last_next[part]) memory_.set(last[part]->next, Ref<Entry>{});
    }
  }

  Memory& memory_;
  Header& header_;
};

}  // namespace nearfar::bench
