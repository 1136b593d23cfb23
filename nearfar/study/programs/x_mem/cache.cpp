// A key-value cache in kind: requests parsed, a hash table of tagged pointers, values in a slab.
//
//   cache ITEMS REQUESTS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dice.hpp"
#include "nearfar/mark.h"

namespace {

constexpr uint64_t kSlots = 4;
constexpr uint64_t kKeyBytes = 16;
constexpr uint64_t kValueBytes = 232;
constexpr uint64_t kSetsIn = 20;  // Of so many requests, one writes.

struct Item {
  char key[kKeyBytes];
  uint32_t bytes;
  uint32_t expires;
  char value[kValueBytes];
};

struct Bucket {
  uint8_t tags[kSlots];
  uint32_t items[kSlots];
};

template <typename Element>
std::vector<Element> tagged(const char* name, uint64_t count) {
  NEARFAR_TAG(name);
  return std::vector<Element>(count);
}

uint64_t hash_of(const char* key) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint64_t i = 0; i < kKeyBytes; i++) {
    hash = (hash ^ static_cast<uint8_t>(key[i])) * 0x100000001B3u;
  }
  return hash ^ (hash >> 29);
}

uint8_t tag_of(uint64_t hash) { return static_cast<uint8_t>(hash >> 56) | 1u; }

void write_key(char* key, uint64_t number) {
  for (uint64_t i = 0; i < kKeyBytes; i++, number /= 10) {
    key[i] = static_cast<char>('0' + number % 10);
  }
}

class Cache {
 public:
  explicit Cache(uint64_t items)
      : items_(tagged<Item>("slab", items)), recent_(tagged<uint8_t>("recent", items)) {
    uint64_t buckets = 1;
    while (buckets * kSlots < 2 * items) buckets *= 2;
    buckets_ = tagged<Bucket>("hash table", buckets);
    for (uint64_t i = 0; i < items; i++) {
      write_key(items_[i].key, i);
      items_[i].bytes = kValueBytes;
      std::memset(items_[i].value, static_cast<int>(i & 127), kValueBytes);
      insert(hash_of(items_[i].key), static_cast<uint32_t>(i));
    }
  }

  Item* find(const char* key) {
    const uint64_t hash = hash_of(key);
    for (uint64_t at = hash;; at++) {
      const Bucket& bucket = buckets_[at & (buckets_.size() - 1)];
      for (uint64_t slot = 0; slot < kSlots; slot++) {
        if (bucket.tags[slot] == 0) return nullptr;
        if (bucket.tags[slot] != tag_of(hash)) continue;
        Item* item = &items_[bucket.items[slot]];
        if (std::memcmp(item->key, key, kKeyBytes) != 0) continue;
        recent_[bucket.items[slot]] = 1;
        return item;
      }
    }
  }

 private:
  void insert(uint64_t hash, uint32_t number) {
    for (uint64_t at = hash;; at++) {
      Bucket& bucket = buckets_[at & (buckets_.size() - 1)];
      for (uint64_t slot = 0; slot < kSlots; slot++) {
        if (bucket.tags[slot] != 0) continue;
        bucket.tags[slot] = tag_of(hash);
        bucket.items[slot] = number;
        return;
      }
    }
  }

  std::vector<Item> items_;
  std::vector<uint8_t> recent_;  // Of eviction by CLOCK: used since the hand passed.
  std::vector<Bucket> buckets_;
};

}  // namespace

int main(int count, char** words) {
  const uint64_t items = count > 1 ? strtoull(words[1], nullptr, 10) : 1u << 19;
  const uint64_t requests = count > 2 ? strtoull(words[2], nullptr, 10) : 1u << 21;
  Cache cache(items);
  Dice dice(3);
  uint64_t misses = 0;
  uint64_t sum = 0;
  char request[64];
  char answer[64 + kValueBytes];
  NEARFAR_BEGIN("work");
  for (uint64_t i = 0; i < requests; i++) {
    char key[kKeyBytes];
    write_key(key, dice.skewed_below(items));
    const int length = snprintf(request, sizeof request, "get %.16s\r\n", key);
    Item* item = cache.find(request + 4);
    if (item == nullptr || length < 0) {
      misses++;
    } else if (i % kSetsIn == 0) {
      std::memset(item->value, static_cast<int>(i & 127), kValueBytes);
    } else {
      const int head = snprintf(answer, 64, "VALUE %.16s 0 %u\r\n", key, item->bytes);
      std::memcpy(answer + head, item->value, kValueBytes);
      sum += static_cast<uint8_t>(answer[head + 7]);
    }
  }
  NEARFAR_END("work", requests);
  printf("misses %llu, sum %llu\n", static_cast<unsigned long long>(misses),
         static_cast<unsigned long long>(sum));
  return misses == 0 ? 0 : 1;
}
