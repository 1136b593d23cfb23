#include "bench/maps/map_workload.hpp"

#include <algorithm>
#include <mutex>

#include "bench/maps/keys.hpp"

namespace nearfar::bench {
namespace {

// Maximum pool size per key: an entry or leaf, its share of inner nodes and tables, each rounded up
// by libpmemobj, and the old table next to the new.
constexpr std::uint64_t bytes_per_key = 288;
constexpr std::uint64_t bytes_per_element = 64;  // block header and rounding
constexpr Bytes base_bytes{64U << 20U};          // libpmemobj's own data, logs, fragmentation

std::string path_of(Arguments& arguments, const MapType& type) {
  if (arguments.text("memory", {"volatile", "pool"}) == "volatile") {
    if (!arguments.text("pool").empty()) throw BadArgument("pool=PATH needs memory=pool");
    return "";
  }
  if (*pools_need != '\0') {
    throw MachineError(
        std::string("memory=pool needs ") + pools_need +
        ", which was not installed when nearfar was built: install it and build again");
  }
  if (!type.make_pool) throw BadArgument(type.name + " is volatile only: omit memory=pool");
  std::string path = arguments.text("pool");
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
       "insert, get, remove, or mix: `reads` percent gets, the rest inserts and removes"},
      {"n", "50000", "keys: inserted by insert, present before get, remove and mix"},
      {"operations", "0", "number of timed operations; 0: n. At most n for insert and remove"},
      {"keys", "random", "order of inserts: random, ascending, descending"},
      {"order", "shuffled", "order of gets and removes: shuffled, inserted, sorted"},
      {"element", "0",
       "bytes allocated for each key besides its entry; 0: the value is a word in the map"},
      {"value", "0", "bytes of an element that a get reads; an insert writes at least 8"},
      {"reads", "50", "percentage of gets in mix"},
      {"warm_up", "0",
       "untimed operations of the same kind, on other keys if they "
       "change the map"},
  };
  own.insert(own.end(), std::begin(others), std::end(others));
  return with_common(own);
}

MapWorkload::MapWorkload(Arguments& arguments, const std::string& name)
    : type_(map_type(name)),
      operation_(arguments.text("operation", {"insert", "get", "remove", "mix"})),
      n_(arguments.count("n")),
      operations_(arguments.count("operations")),
      keys_order_(arguments.text("keys", key_orders)),
      visit_order_(arguments.text("order", visit_orders)),
      elements_{arguments.size("element").count, arguments.size("value").count},
      reads_(arguments.count("reads")),
      warm_up_(arguments.count("warm_up")),
      threads_(static_cast<unsigned>(arguments.count("threads"))),
      seed_(arguments.count("seed")),
      path_(path_of(arguments, type_)),
      pool_bytes_(arguments.size("pool_bytes")),
      removed_(path_) {
  if (n_ == 0) throw BadArgument("n=0: it must be at least 1");
  if (threads_ == 0) throw BadArgument("threads=0: it must be at least 1");
  if (operations_ == 0) operations_ = n_;
  if (operations_ > n_ && (operation_ == "insert" || operation_ == "remove")) {
    throw BadArgument("operations=" + std::to_string(operations_) + " is more than n=" +
                      std::to_string(n_) + ", and each key can be " + operation_ + "d once");
  }
  if (elements_.value_bytes > elements_.element_bytes) {
    throw BadArgument("value: " + std::to_string(elements_.value_bytes) +
                      " bytes, more than its element's " + std::to_string(elements_.element_bytes));
  }
  if (elements_.element_bytes % 8 != 0 || elements_.value_bytes % 8 != 0) {
    throw BadArgument("element and value must be multiples of 8 bytes");
  }
  if (reads_ > 100) throw BadArgument("reads is a percentage: at most 100");
}

Bytes MapWorkload::pool_bytes() const {
  if (pool_bytes_.count != 0) return pool_bytes_;
  std::uint64_t bytes_each = bytes_per_key;
  if (elements_.element_bytes != 0) {
    bytes_each += elements_.element_bytes + elements_.element_bytes / 4 + bytes_per_element;
  }
  return base_bytes + Bytes{bytes_each * (n_ + warm_up_)};
}

void MapWorkload::set_up() {
  owned_ = path_.empty() ? type_.make_volatile(elements_)
                         : type_.make_pool(path_, pool_bytes(), elements_);
  keys_ = keys_of(keys_order_, n_, seed_);
  visits_ = visits_of(visit_order_, keys_, seed_);
  const bool filled = operation_ != "insert";
  present_.assign(n_, filled ? 1 : 0);
  if (!filled) return;
  turn_counts_.inserted = n_;
  for (const std::uint64_t key : keys_) owned_->map().put(key, value_of(key));
}

void MapWorkload::warm_up() {
  Map& map = owned_->map();
  if (operation_ == "get") {
    for (std::uint64_t i = 0; i < warm_up_; ++i) read(visits_[i % n_]);
    return;
  }
  // Keys outside of all runs: the highest bit before mixing is set.
  const auto other = [](std::uint64_t i) { return mixed(~i); };
  for (std::uint64_t i = 0; i < warm_up_; ++i) map.put(other(i), value_of(other(i)));
  for (std::uint64_t i = 0; i < warm_up_; ++i) map.remove(other(i));
}

std::uint64_t MapWorkload::read(std::uint64_t key) const {
  const std::optional<std::uint64_t> value = owned_->map().get(key);
  if (!value) throw WrongContent("a get did not find an inserted key");
  if (*value != sum_of(value_of(key), elements_)) {
    throw WrongContent("a get returned a wrong value");
  }
  return *value;
}

template <bool Locked>
void MapWorkload::operate(Lane& lane, std::uint64_t begin, std::uint64_t end) {
  Map& map = owned_->map();
  const auto exclusively = [&](auto&& f) {
    if constexpr (Locked) {
      const std::unique_lock hold(lock_);
      f();
    } else {
      f();
    }
  };
  const auto shared = [&](auto&& f) {
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
      lane.operation([&] { exclusively([&] { map.put(key, value_of(key)); }); });
    } else if (operation_ == "get") {
      const std::uint64_t key = visits_[i % n_];
      lane.operation([&] { shared([&] { read(key); }); });
    } else if (operation_ == "remove") {
      const std::uint64_t key = visits_[i];
      bool removed = false;
      lane.operation([&] { exclusively([&] { removed = map.remove(key); }); });
      if (!removed) throw WrongContent("a remove did not find an inserted key");
    } else {
      mixed_operation(lane);
    }
  }
}

// Uses a key of this lane only, so that its presence is known without other lanes.
void MapWorkload::mixed_operation(Lane& lane) {
  const std::uint64_t own = (n_ - lane.index + threads_ - 1) / threads_;
  if (own == 0) return;
  const std::uint64_t place = lane.random() % own * threads_ + lane.index;
  const std::uint64_t key = keys_[place];
  Map& map = owned_->map();
  if (lane.random() % 100 < reads_) {
    std::optional<std::uint64_t> found;
    lane.operation([&] {
      const std::shared_lock hold(lock_);
      found = map.get(key);
    });
    if (found.has_value() != (present_[place] != 0)) {
      throw WrongContent("a get found a missing key, or missed a present one");
    }
    return;
  }
  lane.operation([&] {
    const std::unique_lock hold(lock_);
    if (present_[place] != 0) {
      map.remove(key);
    } else {
      map.put(key, value_of(key));
    }
  });
  present_[place] ^= 1U;
}

void MapWorkload::part(Meter& meter, std::uint64_t begin, std::uint64_t end) {
  // One thread takes no lock, except in mix, where it is uncontended.
  meter.timed(threads_, [&](Lane& lane) {
    if (threads_ > 1) {
      operate<true>(lane, begin, end);
    } else {
      operate<false>(lane, begin, end);
    }
  });
  if (operation_ == "insert") std::fill(present_.begin() + begin, present_.begin() + end, 1);
  if (operation_ == "remove") mark_removed(begin, end);
}

void MapWorkload::mark_removed(std::uint64_t begin, std::uint64_t end) {
  if (places_.empty()) {
    for (std::uint64_t i = 0; i < n_; ++i) places_[keys_[i]] = i;
  }
  for (std::uint64_t i = begin; i < end; ++i) present_[places_[visits_[i]]] = 0;
}

void MapWorkload::run(Meter& meter) {
  part(meter, 0, operations_);
  meter.say("locking", threads_ > 1 ? "one readers-writer lock around each operation"
                                    : "one thread, no contended lock");
  meter.say("keys", keys_order_ + ", " + std::to_string(n_));
}

void MapWorkload::turn(const std::string& operation, std::uint64_t count, Meter& meter) {
  const bool inserts = operation == "insert";
  if (!inserts && operation != "get" && operation != "remove") {
    throw BadArgument("a turn must be insert, get or remove, not '" + operation + "'");
  }
  if (inserts ? turn_counts_.removed != 0 : turn_counts_.inserted < n_) {
    throw BadArgument("all keys must be inserted before any is looked up or removed");
  }
  std::uint64_t& done = inserts              ? turn_counts_.inserted
                        : operation == "get" ? turn_counts_.got
                                             : turn_counts_.removed;
  if (operation == "get" && turn_counts_.removed != 0)
    throw BadArgument("gets must precede removes");
  if (count > n_ || done > n_ - count) {
    throw BadArgument("only " + std::to_string(n_ - done) + " keys remain for " + operation);
  }
  operation_ = operation;
  part(meter, done, done + count);
  done += count;
}

void MapWorkload::verify() {
  Map& map = owned_->map();
  map.check();
  std::uint64_t expected_size = 0;
  std::unordered_map<std::uint64_t, unsigned char> expected;
  expected.reserve(n_);
  for (std::uint64_t i = 0; i < n_; ++i) {
    if (present_[i] == 0) continue;
    expected.emplace(keys_[i], 0);
    ++expected_size;
  }
  std::uint64_t seen = 0;
  map.foreach ([&](std::uint64_t key, std::uint64_t value) {
    const auto entry = expected.find(key);
    if (entry == expected.end()) throw WrongContent("the map contains an unexpected key");
    if (entry->second++ != 0) throw WrongContent("the map contains a key twice");
    if (value != value_of(key)) throw WrongContent("the map contains a wrong value");
    ++seen;
  });
  if (seen != expected_size) {
    throw WrongContent("the map contains " + std::to_string(seen) + " keys instead of " +
                       std::to_string(expected_size));
  }
  for (std::uint64_t i = 0; i < n_; ++i) {
    if (map.get(keys_[i]).has_value() != (present_[i] != 0)) {
      throw WrongContent("a look-up and the walk over all keys disagree");
    }
  }
}

bool MapWorkload::reopen() {
  if (path_.empty()) return false;
  owned_.reset();
  owned_ = type_.open_pool(path_);
  return true;
}

}  // namespace nearfar::bench
