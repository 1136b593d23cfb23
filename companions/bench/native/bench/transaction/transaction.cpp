// Cost of a libpmemobj transaction: it snapshots and changes a word and, optionally, allocates or
// frees a block. It is the unit that separates costs of maps from the machine's.
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
  explicit Transaction(Arguments& arguments)
      : operations_(arguments.count("operations")),
        with_(arguments.text("with", {"nothing", "alloc", "free"})),
        block_(arguments.size("block")),
        path_(arguments.text("pool")),
        pool_bytes_(arguments.size("pool_bytes")) {
    if (arguments.text("memory", {"volatile", "pool"}) == "volatile") {
      throw BadArgument("transactions need a pool: use memory=pool");
    }
    if (arguments.count("threads") != 1)
      throw BadArgument("threads: transactions are measured with one thread");
    arguments.count("seed");  // unused: nothing is random
    if (block_.count < sizeof(std::uint64_t)) throw BadArgument("block must be at least 8 bytes");
    check_new_pool(path_);
    removed_ = std::make_unique<RemovedAtEnd>(path_);
  }

  void set_up() override {
    constexpr Bytes overhead{64U << 20U};
    constexpr std::uint64_t header = 80;  // per block, rounded up
    const Bytes pool_bytes = pool_bytes_.count != 0
                                 ? pool_bytes_
                                 : overhead + Bytes{operations_ * (block_.count + header) * 5 / 4};
    pool_.make(path_, layout, pool_bytes);
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
            remove();
          }
        });
      }
    });
    expected_ = with_ == "free" ? 0 : operations_;
  }

  void verify() override {
    std::uint64_t result = root_->word;
    if (with_ == "alloc") {
      result = 0;
      for (auto each = root_->block; each; each.where = *memory_->at(each)) ++result;
    }
    if (result != expected_) throw WrongContent("the word is not the transactions' result");
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
  // Blocks form a linked list from the root.
  void add() {
    memory_->change([&] {
      const auto block = memory_->make<std::uint64_t>(block_.count);
      *memory_->at(block) = root_->block.where;
      memory_->set(root_->block, block);
      if (with_ == "free") memory_->set(root_->word, root_->word + 1);
    });
  }
  void remove() {
    memory_->change([&] {
      const auto block = root_->block;
      memory_->touch(root_);
      root_->block = {*memory_->at(block)};
      --root_->word;
      memory_->drop(block);
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

std::unique_ptr<Workload> make(Arguments& arguments) {
  return std::make_unique<Transaction>(arguments);
}

#else

std::unique_ptr<Workload> make(Arguments&) { return nullptr; }  // `needs` prevents it

#endif

const Registered transaction{{
    .name = "transaction",
    .summary = "transactions of libpmemobj that change a word",
    .parameters = with_common({{"operations", "100000", "transactions"},
                               {"with", "nothing", "nothing; alloc or free: a block in each"},
                               {"block", "64", "bytes of a block"}}),
    .make = make,
    .needs = pools_need,
}};

}  // namespace
}  // namespace nearfar::bench
