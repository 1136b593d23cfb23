#include "bench/maps/map_workload.hpp"

#include <algorithm>
#include <mutex>

#include "bench/maps/keys.hpp"

namespace nearfar::bench {
namespace {

// What a pool needs for one key at most: an entry or leaf, its share of inner nodes and tables,
// each rounded up by libpmemobj, and the old table beside the new.
constexpr std::uint64_t bytes_per_key = 288;
constexpr std::uint64_t bytes_per_element = 64;  // its header, and rounding
constexpr Bytes bytes_besides{64U << 20U};       // libpmemobj's own, logs, what is half used

std::string path_of(Arguments& given, const MapType& type) {
  if (given.text("memory", {"volatile", "pool"}) == "volatile") {
    if (!given.text("pool").empty()) throw BadArgument("pool=PATH is of memory=pool");
    return "";
  }
  if (*pools_need != '\0') {
    throw MachineLacks(std::string("memory=pool needs ") + pools_need +
                       ", which was not there when nearfar was built: install it and build again");
  }
  if (!type.make_pool) throw BadArgument(type.name + " is volatile only: leave out memory=pool");
  std::string path = given.text("pool");
  check_new_pool(path);
  return path;
}

}  // namespace

std::vector<Parameter> map_parameters(bool with_name) {
  std::vector<Parameter> own;
  if (with_name) {
    own.push_back({"map", "hash-tx",
                   "hash-atomic, hash-tx, hash-robin-hood, b-tree, crit-bit, radix, red-black, "
                   "skip-list; volatile only: std-map, std-unordered-map"});
  }
  const Parameter others[] = {
      {"operation", "insert",
       "insert, get, remove, or mix: `reads` per cent of gets, the rest inserts and removes"},
      {"n", "50000", "keys: inserted by insert, there before get, remove and mix"},
      {"operations", "0", "how many are timed; 0: n. Of insert and remove at most n"},
      {"keys", "random", "order of inserts: random, ascending, descending"},
      {"order", "shuffled", "order of gets and removes: shuffled, inserted, sorted"},
      {"element", "0",
       "bytes allocated for each key beside its entry; 0: the value is a word in the map"},
      {"value", "0", "bytes of an element that are read by a get; an insert writes 8 at least"},
      {"reads", "50", "per cent of operations that are gets, of mix"},
      {"warm_up", "0",
       "operations before the timed ones, of the same kind, on other keys if they "
       "change any"},
  };
  own.insert(own.end(), std::begin(others), std::end(others));
  return with_common(own);
}

MapWorkload::MapWorkload(Arguments& given, const std::string& name)
    : type_(map_type(name)),
      operation_(given.text("operation", {"insert", "get", "remove", "mix"})),
      n_(given.count("n")),
      operations_(given.count("operations")),
      keys_order_(given.text("keys", key_orders)),
      visit_order_(given.text("order", visit_orders)),
      elements_{given.size("element").count, given.size("value").count},
      reads_(given.count("reads")),
      warm_up_(given.count("warm_up")),
      threads_(static_cast<unsigned>(given.count("threads"))),
      seed_(given.count("seed")),
      path_(path_of(given, type_)),
      pool_bytes_(given.size("pool_bytes")),
      removed_(path_) {
  if (n_ == 0) throw BadArgument("n=0: there must be a key at least");
  if (threads_ == 0) throw BadArgument("threads=0: at least one must run");
  if (operations_ == 0) operations_ = n_;
  if (operations_ > n_ && (operation_ == "insert" || operation_ == "remove")) {
    throw BadArgument("operations=" + std::to_string(operations_) + " is more than n=" +
                      std::to_string(n_) + ", and each key can be " + operation_ + "d once");
  }
  if (elements_.value_bytes > elements_.element_bytes) {
    throw BadArgument("value: it has " + std::to_string(elements_.value_bytes) +
                      " bytes, more than its element with " +
                      std::to_string(elements_.element_bytes));
  }
  if (elements_.element_bytes % 8 != 0 || elements_.value_bytes % 8 != 0) {
    throw BadArgument("element and value are multiples of 8 bytes");
  }
  if (reads_ > 100) throw BadArgument("reads is per cent: at most 100");
}

Bytes MapWorkload::pool_bytes() const {
  if (pool_bytes_.count != 0) return pool_bytes_;
  std::uint64_t each = bytes_per_key;
  if (elements_.element_bytes != 0) {
    each += elements_.element_bytes + elements_.element_bytes / 4 + bytes_per_element;
  }
  return bytes_besides + Bytes{each * (n_ + warm_up_)};
}

void MapWorkload::set_up() {
  held_ = path_.empty() ? type_.make_volatile(elements_)
                        : type_.make_pool(path_, pool_bytes(), elements_);
  keys_ = keys_of(keys_order_, n_, seed_);
  visits_ = visits_of(visit_order_, keys_, seed_);
  const bool filled = operation_ != "insert";
  there_.assign(n_, filled ? 1 : 0);
  if (!filled) return;
  turns_.inserted = n_;
  for (const std::uint64_t key : keys_) held_->map().put(key, value_of(key));
}

void MapWorkload::warm_up() {
  Map& map = held_->map();
  if (operation_ == "get") {
    for (std::uint64_t i = 0; i < warm_up_; ++i) read(visits_[i % n_]);
    return;
  }
  // Keys that no run has: the highest bit of what is mixed is set.
  const auto other = [](std::uint64_t i) { return mixed(~i); };
  for (std::uint64_t i = 0; i < warm_up_; ++i) map.put(other(i), value_of(other(i)));
  for (std::uint64_t i = 0; i < warm_up_; ++i) map.remove(other(i));
}

std::uint64_t MapWorkload::read(std::uint64_t key) const {
  const std::optional<std::uint64_t> found = held_->map().get(key);
  if (!found) throw WrongContent("a get did not find a key that was inserted");
  if (*found != sum_of(value_of(key), elements_)) {
    throw WrongContent("a get found another value than was inserted");
  }
  return *found;
}

template <bool Locked>
void MapWorkload::operate(Lane& lane, std::uint64_t begin, std::uint64_t end) {
  Map& map = held_->map();
  const auto alone = [&](auto&& f) {
    if constexpr (Locked) {
      const std::unique_lock hold(lock_);
      f();
    } else {
      f();
    }
  };
  const auto beside_readers = [&](auto&& f) {
    if constexpr (Locked) {
      const std::shared_lock hold(lock_);
      f();
    } else {
      f();
    }
  };
  for (std::uint64_t i = begin + lane.index; i < end; i += threads_) {
    if (operation_ == "insert") {
      const std::uint64_t key = keys_[i];
      lane.operation([&] { alone([&] { map.put(key, value_of(key)); }); });
    } else if (operation_ == "get") {
      const std::uint64_t key = visits_[i % n_];
      lane.operation([&] { beside_readers([&] { read(key); }); });
    } else if (operation_ == "remove") {
      const std::uint64_t key = visits_[i];
      bool removed = false;
      lane.operation([&] { alone([&] { removed = map.remove(key); }); });
      if (!removed) throw WrongContent("a remove did not find a key that was inserted");
    } else {
      mixed_operation(lane);
    }
  }
}

// On a key of this lane's own, so that what must be there is known without asking the others.
void MapWorkload::mixed_operation(Lane& lane) {
  const std::uint64_t own = (n_ - lane.index + threads_ - 1) / threads_;
  if (own == 0) return;
  const std::uint64_t place = lane.random() % own * threads_ + lane.index;
  const std::uint64_t key = keys_[place];
  Map& map = held_->map();
  if (lane.random() % 100 < reads_) {
    std::optional<std::uint64_t> found;
    lane.operation([&] {
      const std::shared_lock hold(lock_);
      found = map.get(key);
    });
    if (found.has_value() != (there_[place] != 0)) {
      throw WrongContent("a get found what is not there, or not what is");
    }
    return;
  }
  lane.operation([&] {
    const std::unique_lock hold(lock_);
    if (there_[place] != 0) {
      map.remove(key);
    } else {
      map.put(key, value_of(key));
    }
  });
  there_[place] ^= 1U;
}

void MapWorkload::part(Meter& meter, std::uint64_t begin, std::uint64_t end) {
  // One thread takes no lock, but for mix, whose locks are never contended then.
  meter.timed(threads_, [&](Lane& lane) {
    if (threads_ > 1) {
      operate<true>(lane, begin, end);
    } else {
      operate<false>(lane, begin, end);
    }
  });
  if (operation_ == "insert") std::fill(there_.begin() + begin, there_.begin() + end, 1);
  if (operation_ == "remove") note_removed(begin, end);
}

void MapWorkload::note_removed(std::uint64_t begin, std::uint64_t end) {
  if (places_.empty()) {
    for (std::uint64_t i = 0; i < n_; ++i) places_[keys_[i]] = i;
  }
  for (std::uint64_t i = begin; i < end; ++i) there_[places_[visits_[i]]] = 0;
}

void MapWorkload::run(Meter& meter) {
  part(meter, 0, operations_);
  meter.say("locking", threads_ > 1 ? "one readers-writer lock around each operation"
                                    : "one thread, no lock that is waited for");
  meter.say("keys", keys_order_ + ", " + std::to_string(n_));
}

void MapWorkload::turn(const std::string& operation, std::uint64_t count, Meter& meter) {
  const bool inserts = operation == "insert";
  if (!inserts && operation != "get" && operation != "remove") {
    throw BadArgument("a turn inserts, gets or removes, not '" + operation + "'");
  }
  if (inserts ? turns_.removed != 0 : turns_.inserted < n_) {
    throw BadArgument("keys are inserted, all of them, before any is looked up or removed");
  }
  std::uint64_t& done = inserts              ? turns_.inserted
                        : operation == "get" ? turns_.got
                                             : turns_.removed;
  if (operation == "get" && turns_.removed != 0) throw BadArgument("gets come before removes");
  if (count > n_ || done > n_ - count) {
    throw BadArgument("there are " + std::to_string(n_ - done) + " keys left to " + operation);
  }
  operation_ = operation;
  part(meter, done, done + count);
  done += count;
}

void MapWorkload::verify() {
  Map& map = held_->map();
  map.check();
  std::uint64_t wanted = 0;
  std::unordered_map<std::uint64_t, unsigned char> expected;
  expected.reserve(n_);
  for (std::uint64_t i = 0; i < n_; ++i) {
    if (there_[i] == 0) continue;
    expected.emplace(keys_[i], 0);
    ++wanted;
  }
  std::uint64_t seen = 0;
  map.foreach ([&](std::uint64_t key, std::uint64_t value) {
    const auto found = expected.find(key);
    if (found == expected.end()) throw WrongContent("the map holds a key that should not be there");
    if (found->second++ != 0) throw WrongContent("the map holds a key twice");
    if (value != value_of(key)) throw WrongContent("the map holds another value than was inserted");
    ++seen;
  });
  if (seen != wanted) {
    throw WrongContent("the map holds " + std::to_string(seen) + " keys, and " +
                       std::to_string(wanted) + " should be there");
  }
  for (std::uint64_t i = 0; i < n_; ++i) {
    if (map.get(keys_[i]).has_value() != (there_[i] != 0)) {
      throw WrongContent("a look-up and the walk over all keys do not agree");
    }
  }
}

bool MapWorkload::reopen() {
  if (path_.empty()) return false;
  held_.reset();
  held_ = type_.open_pool(path_);
  return true;
}

}  // namespace nearfar::bench
