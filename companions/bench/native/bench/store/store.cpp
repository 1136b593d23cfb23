// store: puts and gets of a table with a write-ahead log.
#include <bit>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "bench/kind.hpp"
#include "bench/pattern.hpp"
#include "bench/pool_workload.hpp"
#include "bench/store/key_value.hpp"
#include "bench/stretch.hpp"
#ifdef NEARFAR_HAVE_PMEM
#include "bench/store/drive.hpp"
#endif

namespace nearfar::bench {
namespace {

#ifdef NEARFAR_HAVE_PMEM

class Store final : public PoolWorkload {
 public:
  explicit Store(Arguments& arguments)
      : PoolWorkload(arguments, "nearfar-store-1"),
        stretch_(arguments),
        versions_(arguments.count("keys")),
        words_((arguments.size("value").count + 7) / 8),
        puts_percent_(arguments.number("puts")),
        log_bytes_{arguments.size("log").count / page * page} {
    if (versions_.empty() || words_ == 0) throw BadArgument("keys and value must be at least 1");
    if (puts_percent_ < 0 || puts_percent_ > 100) {
      throw BadArgument("puts is a percentage of operations, 0 to 100");
    }
    if (log_bytes_.count < RecordLog::overhead + RecordLog::bytes_of(1 + words_)) {
      throw BadArgument("log=" + std::to_string(log_bytes_.count) +
                        " is too small for one put: its first 4 KiB are its header");
    }
  }

  void run(Meter& meter) override {
    const auto puts = static_cast<std::uint64_t>(puts_percent_ / 100.0 * 4294967296.0);
    stretch_.run_threads(meter, [&](Lane& lane) {
      std::vector<std::uint64_t> value(words_);
      while (stretch_.going(lane)) {
        const std::uint64_t bits = lane.random();
        const std::uint64_t key = ((bits >> 32U) * versions_.size()) >> 32U;
        const bool put = (bits & 0xFFFFFFFFU) < puts;
        lane.operation([&] { serve(put, key, value); });
      }
    });
  }

  void verify() override {
    std::uint64_t count = 0;
    table_->for_each([&](std::uint64_t key, std::span<const std::uint64_t> value) {
      if (key >= versions_.size() || !is_filled(value, key, versions_[key])) {
        throw WrongContent("key " + std::to_string(key) +
                           " does not have the value of the last put");
      }
      ++count;
    });
    if (count != versions_.size()) {
      throw WrongContent("the store has " + std::to_string(count) + " keys of " +
                         std::to_string(versions_.size()));
    }
  }

 protected:
  [[nodiscard]] Bytes min_bytes() const override {
    return KeyValue::bytes_for(log_bytes_, slots(), words_);
  }
  void opened() override {
    table_ = std::make_unique<KeyValue>(pool(), log_bytes_, slots(), words_);
    if (const std::string wrong = table_->recover(); !wrong.empty()) throw WrongContent(wrong);
  }
  void fill_new() override {
    KeyValue table(pool(), log_bytes_, slots(), words_);
    std::vector<std::uint64_t> value(words_);
    for (std::uint64_t key = 0; key < versions_.size(); ++key) {
      fill(value, key, 0);
      table.preset(key, value);
    }
  }
  void closing() override { table_.reset(); }

 private:
  static constexpr std::uint64_t page = 4096;

  [[nodiscard]] std::uint64_t slots() const { return std::bit_ceil(2 * versions_.size()); }

  void serve(bool put, std::uint64_t key, std::vector<std::uint64_t>& value) {
    if (stretch_.threads() == 1) return serve_alone(put, key, value);
    if (put) {
      const std::unique_lock lock(mutex_);
      serve_alone(put, key, value);
    } else {
      const std::shared_lock lock(mutex_);
      serve_alone(put, key, value);
    }
  }
  void serve_alone(bool put, std::uint64_t key, std::vector<std::uint64_t>& value) {
    if (put) {
      fill(value, key, ++versions_[key]);
      (void)table_->put(key, value);
      return;
    }
    const std::uint64_t* value_in_table = table_->get(key);
    if (value_in_table == nullptr || value_in_table[0] != first_word(key, versions_[key])) {
      throw WrongContent("a get of key " + std::to_string(key) + " returned another value");
    }
    std::ranges::copy(std::span(value_in_table, words_), value.begin());
    asm volatile("" ::"r"(value.data()) : "memory");
  }

  Stretch stretch_;
  std::vector<std::uint64_t> versions_;
  std::uint64_t words_;
  double puts_percent_;
  Bytes log_bytes_;
  std::unique_ptr<KeyValue> table_;
  std::shared_mutex mutex_;
};

std::unique_ptr<Workload> make(Arguments& arguments) { return std::make_unique<Store>(arguments); }

#else
std::unique_ptr<Workload> make(Arguments& /*given*/) { return nullptr; }
#endif

const Registered store{{
    .name = "store",
    .summary = "puts and gets of a table with a write-ahead log",
    .parameters = with_stretch(
        {{"keys", "65536", "keys, all present at the start"},
         {"value", "100", "bytes of a value"},
         {"puts", "50", "percentage of operations that put; the others get"},
         {"log", "4MiB", "bytes of the write-ahead log; when full, it is checkpointed"}}),
    .make = make,
    .needs = pools_need,
#ifdef NEARFAR_HAVE_PMEM
    .check = check_store,
    .dump = dump_store,
    .drive = drive_store,
#endif
}};

}  // namespace
}  // namespace nearfar::bench
