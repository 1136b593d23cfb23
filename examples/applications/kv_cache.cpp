// A key-value cache: text requests through a socket, a cuckoo hash table with tags, values in slab
// classes, each with its list of least recently used.
//
//   kv_cache [ITEMS [REQUESTS]] [--latencies FILE] [--huge-pages]
//
// 95 % of requests read, 5 % write; half of the writes bring a new key and push the oldest of its
// class out. Keys of 16 bytes; values of 32 B to 8 KiB, nine in ten of at most 512 B, which take
// about half of the memory. Requests come in trains of one kind, so that each kind is a phase.
#include <algorithm>

#include "application.hpp"

namespace {

using namespace application;

constexpr uint64_t kKeyBytes = 16;
constexpr uint64_t kSlots = 4;
constexpr uint64_t kMostMoves = 500;  // Of a cuckoo insertion, as MemC3 has it.

constexpr uint64_t kClasses = 8;
constexpr std::array<uint64_t, kClasses> kValueBytes = {32, 64, 128, 256, 512, 1024, 2048, 8192};
constexpr std::array<uint64_t, kClasses> kItemsInThousand = {280, 170, 190, 170, 100, 55, 23, 12};
constexpr std::array<const char*, kClasses> kSlabs = {"slab 32",   "slab 64",  "slab 128",
                                                      "slab 256",  "slab 512", "slab 1024",
                                                      "slab 2048", "slab 8192"};
constexpr uint64_t kSet = kClasses;
constexpr uint64_t kReadsInThousand = 950;

struct Item {
  Item* newer;
  Item* older;
  uint32_t moved_up;  // Request at which it last became the newest.
  uint16_t value_bytes;
  uint16_t slab_class;
  char key[kKeyBytes];
  char value[];
};

struct Bucket {
  uint8_t tags[kSlots];
  Item* items[kSlots];
};

uint64_t hash_of(const char* key) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint64_t i = 0; i < kKeyBytes; i++) {
    hash = (hash ^ static_cast<uint8_t>(key[i])) * 0x100000001B3u;
  }
  return (hash ^ (hash >> 32)) * 0x9E3779B97F4A7C15u;
}

uint8_t tag_of(uint64_t hash) { return static_cast<uint8_t>(hash >> 56) | 1u; }

// A class' memory and its items from the newest to the oldest.
class Slab {
 public:
  Slab(uint64_t number, uint64_t items)
      : item_bytes_(sizeof(Item) + kValueBytes[number]),
        memory_(region<char>(kSlabs[number], items * item_bytes_)) {}

  Item* fresh(uint64_t at) { return reinterpret_cast<Item*>(memory_ + at * item_bytes_); }
  Item* oldest() const { return oldest_; }

  void take_out(Item* item) {
    (item->newer ? item->newer->older : newest_) = item->older;
    (item->older ? item->older->newer : oldest_) = item->newer;
  }
  void put_first(Item* item) {
    item->newer = nullptr;
    item->older = newest_;
    (newest_ ? newest_->newer : oldest_) = item;
    newest_ = item;
  }

 private:
  uint64_t item_bytes_;
  char* memory_;
  Item* newest_ = nullptr;
  Item* oldest_ = nullptr;
};

class Table {
 public:
  // Room for `items` at most 90 % full.
  explicit Table(uint64_t items)
      : mask_(std::bit_ceil(items * 10 / 9 / kSlots + 1) - 1),
        buckets_(region<Bucket>("hash table", mask_ + 1)) {}

  Item* find(const char* key) const {
    const uint64_t hash = hash_of(key);
    const uint8_t tag = tag_of(hash);
    for (const uint64_t at : {hash & mask_, other(hash & mask_, tag)}) {
      const Bucket& bucket = buckets_[at];
      for (uint64_t slot = 0; slot < kSlots; slot++) {
        if (bucket.tags[slot] != tag) continue;
        Item* const item = bucket.items[slot];
        if (memcmp(item->key, key, kKeyBytes) == 0) return item;
      }
    }
    return nullptr;
  }

  void insert(Item* item) {
    const uint64_t hash = hash_of(item->key);
    uint8_t tag = tag_of(hash);
    uint64_t at = hash & mask_;
    if (place(item, tag, at)) return;
    at = other(at, tag);
    for (uint64_t move = 0; move < kMostMoves; move++) {
      if (place(item, tag, at)) return;
      Bucket& bucket = buckets_[at];
      const uint64_t slot = dice_.below(kSlots);
      std::swap(item, bucket.items[slot]);
      std::swap(tag, bucket.tags[slot]);
      at = other(at, tag);
    }
    fputs("the hash table is full\n", stderr);
    exit(1);
  }

  void remove(const Item* item) {
    const uint64_t hash = hash_of(item->key);
    const uint8_t tag = tag_of(hash);
    for (const uint64_t at : {hash & mask_, other(hash & mask_, tag)}) {
      for (uint64_t slot = 0; slot < kSlots; slot++) {
        Bucket& bucket = buckets_[at];
        if (bucket.tags[slot] == tag && bucket.items[slot] == item) bucket.tags[slot] = 0;
      }
    }
  }

 private:
  uint64_t other(uint64_t at, uint8_t tag) const { return (at ^ (tag * 0x5BD1E995u)) & mask_; }

  bool place(Item* item, uint8_t tag, uint64_t at) {
    Bucket& bucket = buckets_[at];
    for (uint64_t slot = 0; slot < kSlots; slot++) {
      if (bucket.tags[slot] != 0) continue;
      bucket.tags[slot] = tag;
      bucket.items[slot] = item;
      return true;
    }
    return false;
  }

  uint64_t mask_;
  Bucket* buckets_;
  Dice dice_{1};
};

class Cache {
 public:
  explicit Cache(uint64_t items) : table_(items) {
    for (uint64_t number = 0; number < kClasses; number++) {
      counts_[number] = std::max<uint64_t>(1, items * kItemsInThousand[number] / 1000);
      slabs_.emplace_back(number, counts_[number]);
      for (uint64_t i = 0; i < counts_[number]; i++) {
        Item* const item = slabs_[number].fresh(i);
        char key[kKeyBytes + 1];
        write_key(key, number, i);
        memset(item->value, 'a' + static_cast<int>(i % 26), kValueBytes[number]);
        enter(item, key, number);
      }
    }
    ends_ = counts_;
  }

  // A key of this class that is, or lately was, in the cache.
  void known_key(char* key, uint64_t number, Dice& dice) const {
    write_key(key, number, ends_[number] - 1 - dice.below(counts_[number]));
  }
  void new_key(char* key, uint64_t number) { write_key(key, number, ends_[number]++); }

  // Reads a request and writes its answer: memcached's text protocol.
  std::string_view serve(std::string_view request, char* answer) {
    now_++;
    const bool reads = request.starts_with("get ");
    if (!reads && !request.starts_with("set ")) return "ERROR\r\n";
    const size_t line = request.find("\r\n");
    const char* const key = request.data() + 4;
    if (line < 4 + kKeyBytes || line == std::string_view::npos) return "CLIENT_ERROR\r\n";
    Item* item = table_.find(key);
    if (reads) {
      if (item == nullptr) return "END\r\n";
      use(item);
      const int head = snprintf(answer, 64, "VALUE %.16s 0 %u\r\n", item->key, item->value_bytes);
      memcpy(answer + head, item->value, item->value_bytes);
      memcpy(answer + head + item->value_bytes, "\r\nEND\r\n", 7);
      return {answer, static_cast<size_t>(head) + item->value_bytes + 7};
    }
    uint64_t bytes = 0;
    for (size_t at = request.rfind(' ', line) + 1; at < line; at++) {
      bytes = bytes * 10 + static_cast<uint64_t>(request[at] - '0');
    }
    const uint64_t number = std::ranges::find(kValueBytes, bytes) - kValueBytes.begin();
    if (number == kClasses || request.size() < line + 2 + bytes) return "CLIENT_ERROR\r\n";
    if (item == nullptr) {
      item = slabs_[number].oldest();
      slabs_[number].take_out(item);
      table_.remove(item);
      enter(item, key, number);
    } else {
      use(item);
    }
    memcpy(item->value, request.data() + line + 2, bytes);
    return "STORED\r\n";
  }

 private:
  // A digit of the class, a colon, fourteen of the number.
  static void write_key(char* key, uint64_t number, uint64_t id) {
    for (uint64_t i = kKeyBytes; i > 2; id /= 10) key[--i] = static_cast<char>('0' + id % 10);
    key[0] = static_cast<char>('0' + number);
    key[1] = ':';
    key[kKeyBytes] = 0;
  }

  void enter(Item* item, const char* key, uint64_t number) {
    memcpy(item->key, key, kKeyBytes);
    item->value_bytes = static_cast<uint16_t>(kValueBytes[number]);
    item->slab_class = static_cast<uint16_t>(number);
    item->moved_up = now_;
    slabs_[number].put_first(item);
    table_.insert(item);
  }

  // Moves it up if that was long ago: memcached waits a minute, which is some million requests.
  void use(Item* item) {
    constexpr uint32_t kLongAgo = 1u << 20;
    if (now_ - item->moved_up < kLongAgo) return;
    item->moved_up = now_;
    slabs_[item->slab_class].take_out(item);
    slabs_[item->slab_class].put_first(item);
  }

  Table table_;
  std::vector<Slab> slabs_;
  std::array<uint64_t, kClasses> counts_{};
  std::array<uint64_t, kClasses> ends_{};  // Number of the next new key.
  uint32_t now_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const Options asked = options(count, words, 900'000, 1'000'000);
  Cache cache(asked.size);
  Served served({"get 32", "get 64", "get 128", "get 256", "get 512", "get 1024", "get 2048",
                 "get 8192", "set"});
  Connection connection;
  Dice dice(2);
  uint64_t missed = 0;
  std::vector<char> request(64 + kValueBytes.back());
  std::vector<char> answer(128 + kValueBytes.back());
  const uint64_t began = now_ns();
  for (uint64_t train = 0; train < asked.work / Connection::kTrain; train++) {
    const uint64_t slab = dice.pick(kItemsInThousand, 1000);
    const uint64_t kind = dice.below(1000) < kReadsInThousand ? slab : kSet;
    uint64_t sets = 0;
    const auto ask = [&] {
      char key[kKeyBytes + 1];
      size_t length = 0;
      if (kind != kSet) {
        cache.known_key(key, slab, dice);
        length = static_cast<size_t>(snprintf(request.data(), 64, "get %s\r\n", key));
      } else {
        sets++ % 2 ? cache.new_key(key, slab) : cache.known_key(key, slab, dice);
        length = static_cast<size_t>(
            snprintf(request.data(), 64, "set %s 0 0 %lu\r\n", key, kValueBytes[slab]));
        memset(request.data() + length, 'A', kValueBytes[slab]);
        length += kValueBytes[slab];
      }
      return std::string_view(request.data(), length);
    };
    connection.train(
        served.name(kind), served.of(kind), ask,
        [&](std::string_view text) { return cache.serve(text, answer.data()); },
        [&](std::string_view text) { missed += text == "END\r\n" ? 1 : 0; });
  }
  served.report(static_cast<double>(now_ns() - began) / 1e9, asked.latencies);
  printf("%lu keys were not there any more\n", missed);
  return missed * 10 < asked.work ? 0 : 1;
}
