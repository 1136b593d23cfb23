// intset: a sorted list, a hash set or a skip list under look-ups, inserts and removals.
//
// Each is one algorithm over a memory: the heap, or a libpmemobj pool. The mix is that of the
// benchmark of the same name (Felber, Fetzer, Riegel, PPoPP 2008); the study `intset-measured`
// compares its persistent version (Bastelli, Baldassin, Francesquini, WSCAD 2022).
#include <bit>
#include <optional>

#include "bench/intset/hash_set.hpp"
#include "bench/intset/heap_memory.hpp"
#include "bench/intset/list.hpp"
#include "bench/intset/set_run.hpp"
#include "bench/intset/skip_list.hpp"
#include "bench/kind.hpp"
#include "bench/pool.hpp"
#ifdef NEARFAR_HAVE_PMEM
#include "bench/intset/drive.hpp"
#include "bench/intset/set_pool.hpp"
#endif

namespace nearfar::bench {
namespace {

struct Options {
  Mix mix{};
  std::uint64_t buckets = 0;
  bool in_pool = false;
  std::string pool;
  Bytes pool_bytes{};
  std::string structure;
  std::string reference;
  Safety safety = Safety::safe;
};

// Size parameter of a structure's constructor: buckets or keys.
template <typename Set>
std::uint64_t scale_of(const Options& options) {
  return std::string_view(Set::name) == "hash" ? options.buckets : options.mix.range;
}

template <template <typename, Safety> typename Structure>
class OnHeap final : public Workload {
  using Set = Structure<HeapMemory, Safety::safe>;

 public:
  explicit OnHeap(const Options& options)
      : run_(options.mix),
        set_(memory_, *static_cast<typename Set::Root*>(memory_.root(sizeof(typename Set::Root))),
             scale_of<Set>(options)) {}
  ~OnHeap() override { set_.clear(); }

  void set_up() override { run_.fill(set_); }
  void warm_up() override { run_.warm(set_); }
  void run(Meter& meter) override { run_.run(set_, meter); }
  void verify() override { run_.verify(set_); }

 private:
  HeapMemory memory_;
  SetRun<Set> run_;
  Set set_;
};

#ifdef NEARFAR_HAVE_PMEM

template <template <typename, Safety> typename Structure, typename Reference, Safety safety>
class InPool final : public Workload {
  using Memory = ObjectMemory<Reference>;
  using Set = Structure<Memory, safety>;

 public:
  explicit InPool(const Options& options) : options_(options), run_(options.mix) {
    check_new_pool(options.pool);
  }

  void set_up() override {
    removed_.emplace(options_.pool);
    pool_.make(options_.pool, options_.pool_bytes, options_.mix.range, options_.buckets);
    open();
    run_.fill(*set_);
  }
  void warm_up() override { run_.warm(*set_); }
  void run(Meter& meter) override { run_.run(*set_, meter); }
  void verify() override { run_.verify(*set_); }
  bool reopen() override {
    set_.reset();
    pool_.close();
    pool_.open(options_.pool);
    open();
    return true;
  }
  [[nodiscard]] Durability durability() const override { return pool_.durability(); }

 private:
  void open() {
    set_ = std::make_unique<Set>(pool_.memory(), pool_.root().template of<Set>(),
                                 scale_of<Set>(options_));
  }

  Options options_;
  SetRun<Set> run_;
  std::optional<RemovedAtEnd> removed_;
  SetPool<Reference> pool_;
  std::unique_ptr<Set> set_;
};

template <template <typename, Safety> typename Structure, typename Reference>
std::unique_ptr<Workload> in_pool(const Options& options) {
  switch (options.safety) {
    case Safety::unlogged:
      return std::make_unique<InPool<Structure, Reference, Safety::unlogged>>(options);
    case Safety::published:
      return std::make_unique<InPool<Structure, Reference, Safety::published>>(options);
    case Safety::safe:
      break;
  }
  return std::make_unique<InPool<Structure, Reference, Safety::safe>>(options);
}

#endif

template <template <typename, Safety> typename Structure>
std::unique_ptr<Workload> workload_of(const Options& options) {
#ifdef NEARFAR_HAVE_PMEM
  if (options.in_pool) {
    return options.reference == "offset" ? in_pool<Structure, Offset>(options)
                                         : in_pool<Structure, Pmemoid>(options);
  }
#else
  if (options.in_pool) {
    throw MachineError(
        "memory=pool needs libpmemobj-dev, which was not installed when nearfar was "
        "built: install it and build again");
  }
#endif
  return std::make_unique<OnHeap<Structure>>(options);
}

Options read(Arguments& arguments) {
  Options options;
  Mix& mix = options.mix;
  mix.initial = arguments.count("initial");
  mix.range = arguments.count("range");
  mix.updates_percent = arguments.number("updates");
  mix.alternate = arguments.text("removes", {"drawn", "last"}) == "last";
  mix.length = {arguments.number("seconds") * 1e9};
  mix.operations = arguments.count("operations");
  mix.threads = static_cast<unsigned>(arguments.count("threads"));
  mix.seed = arguments.count("seed");
  options.buckets = arguments.count("buckets");
  options.in_pool = arguments.text("memory", {"volatile", "pool"}) == "pool";
  options.pool = arguments.text("pool");
  options.pool_bytes = arguments.size("pool_bytes");
  options.structure = arguments.text("structure", {"list", "hash", "skip"});
  options.reference = arguments.text("reference", {"pmemoid", "offset"});
  const std::string safety = arguments.text("safety", {"safe", "unlogged", "published"});
  options.safety = safety == "unlogged"    ? Safety::unlogged
                   : safety == "published" ? Safety::published
                                           : Safety::safe;
  if (mix.range == 0) mix.range = 2 * mix.initial;
  if (mix.range < mix.initial || mix.range == 0 || mix.range > Requests::max_range) {
    throw BadArgument("range=" + std::to_string(mix.range) +
                      ": it must be at least `initial`, at least 1 and at most 2^32 keys");
  }
  if (mix.updates_percent < 0 || mix.updates_percent > 100) {
    throw BadArgument("updates is a percentage of operations, 0 to 100");
  }
  if (mix.operations == 0 && !(mix.length.count > 0)) {
    throw BadArgument("seconds must be more than 0 unless operations is set");
  }
  if (!std::has_single_bit(options.buckets)) {
    throw BadArgument("buckets=" + std::to_string(options.buckets) + " is not a power of two");
  }
  if (options.safety != Safety::safe && !options.in_pool) {
    throw BadArgument("safety=" + safety +
                      " applies to transactions of a pool: it needs "
                      "memory=pool");
  }
  return options;
}

const Registered intset{{
    .name = "intset",
    .summary = "a sorted list, hash set or skip list of integers under look-ups and updates",
    .parameters = with_common(
        {{"structure", "list", "list (sorted), hash, or skip (a skip list)"},
         {"initial", "256", "keys that are present at the start"},
         {"range", "0", "number of possible keys; 0: twice `initial`"},
         {"updates", "50", "percentage of operations that insert or remove, half of them each"},
         {"removes", "drawn",
          "drawn: any key; last: the thread's last inserted key (as published)"},
         {"seconds", "1", "length of the timed stretch, s"},
         {"operations", "0", "operations of each thread, instead of a time; 0: by time"},
         {"buckets", "131072", "buckets of the hash set; a power of two (default: as published)"},
         {"reference", "pmemoid",
          "references between nodes of a pool: pmemoid (16 bytes), offset (8)"},
         {"safety", "safe",
          "safe; WRONG after a crash, for studies: unlogged (transactions "
          "without snapshots), published (the published programs' steps)"}}),
    .make = [](Arguments& arguments) -> std::unique_ptr<Workload> {
      const Options options = read(arguments);
      if (options.structure == "hash") return workload_of<HashSet>(options);
      if (options.structure == "skip") return workload_of<SkipList>(options);
      return workload_of<List>(options);
    },
#ifdef NEARFAR_HAVE_PMEM
    .check = check_sets,
    .dump = dump_sets,
    .drive = drive_sets,
#endif
}};

}  // namespace
}  // namespace nearfar::bench
