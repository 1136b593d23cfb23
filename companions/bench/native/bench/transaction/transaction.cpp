// What one transaction of libpmemobj costs: a word snapshotted and changed, and as asked a block
// allocated in it, or one freed. The unit in which costs of maps are told apart from the machine's.
#include <memory>

#include "bench/kind.hpp"
#include "bench/maps/memory.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {
namespace {

#ifdef NEARFAR_HAVE_PMEM

class Transaction final : public Workload {
  struct Root {
    std::uint64_t word;
    Ref<std::uint64_t> block;
  };

 public:
  explicit Transaction(Arguments& given)
      : operations_(given.count("operations")),
        with_(given.text("with", {"nothing", "alloc", "free"})),
        block_(given.size("block")),
        path_(given.text("pool")),
        pool_bytes_(given.size("pool_bytes")) {
    if (given.text("memory", {"volatile", "pool"}) == "volatile") {
      throw BadArgument("a transaction is of a pool: say memory=pool");
    }
    if (given.count("threads") != 1)
      throw BadArgument("threads: one thread measures a transaction");
    given.count("seed");  // nothing here is chosen at random
    if (block_.count < sizeof(std::uint64_t)) throw BadArgument("block is of 8 bytes at least");
    check_new_pool(path_);
    removed_ = std::make_unique<RemovedAtEnd>(path_);
  }

  void set_up() override {
    constexpr Bytes besides{64U << 20U};
    constexpr std::uint64_t header = 80;  // of a block, rounded up
    const Bytes wanted = pool_bytes_.count != 0
                             ? pool_bytes_
                             : besides + Bytes{operations_ * (block_.count + header) * 5 / 4};
    pool_.make(path_, layout, wanted);
    pool_.populate();
    open();
    if (with_ != "free") return;
    for (std::uint64_t i = 0; i < operations_; ++i) add();
  }

  void run(Meter& meter) override {
    meter.timed(1, [&](Lane& lane) {
      for (std::uint64_t i = 0; i < operations_; ++i) {
        lane.operation([&] {
          if (with_ == "nothing") {
            memory_->change([&] { memory_->set(root_->word, root_->word + 1); });
          } else if (with_ == "alloc") {
            add();
          } else {
            take();
          }
        });
      }
    });
    expected_ = with_ == "free" ? 0 : operations_;
  }

  void verify() override {
    std::uint64_t found = root_->word;
    if (with_ == "alloc") {
      found = 0;
      for (auto each = root_->block; each; each.where = *memory_->at(each)) ++found;
    }
    if (found != expected_) throw WrongContent("the word is not what the transactions made it");
  }

  bool reopen() override {
    pool_.open(path_, layout);
    open();
    return true;
  }

  [[nodiscard]] Durability durability() const override { return pool_.durability(); }

 private:
  static constexpr const char* layout = "nearfar-transaction-1";

  void open() {
    root_ = static_cast<Root*>(pool_.root(sizeof(Root)));
    memory_ = std::make_unique<Transactional>(pool_);
  }
  // Blocks hang one after another at the root.
  void add() {
    memory_->change([&] {
      const auto made = memory_->make<std::uint64_t>(block_.count);
      *memory_->at(made) = root_->block.where;
      memory_->set(root_->block, made);
      if (with_ == "free") memory_->set(root_->word, root_->word + 1);
    });
  }
  void take() {
    memory_->change([&] {
      const auto gone = root_->block;
      memory_->touch(root_);
      root_->block = {*memory_->at(gone)};
      --root_->word;
      memory_->drop(gone);
    });
  }

  std::uint64_t operations_;
  std::string with_;
  Bytes block_;
  std::string path_;
  Bytes pool_bytes_;
  std::unique_ptr<RemovedAtEnd> removed_;
  ObjectPool pool_;
  std::unique_ptr<Transactional> memory_;
  Root* root_ = nullptr;
  std::uint64_t expected_ = 0;
};

std::unique_ptr<Workload> make(Arguments& given) { return std::make_unique<Transaction>(given); }

#else

std::unique_ptr<Workload> make(Arguments&) { return nullptr; }  // `needs` keeps it from being made

#endif

const Registered transaction{{
    .name = "transaction",
    .summary = "one transaction of libpmemobj that changes a word",
    .parameters = with_common({{"operations", "100000", "transactions"},
                               {"with", "nothing", "nothing; alloc or free: of a block in each"},
                               {"block", "64", "bytes of a block"}}),
    .make = make,
    .needs = pools_need,
}};

}  // namespace
}  // namespace nearfar::bench
