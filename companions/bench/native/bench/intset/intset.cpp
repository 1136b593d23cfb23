// intset: a sorted list, a hash set or a skip list under look-ups, inserts and removals.
//
// One algorithm each over a memory: the heap, or a libpmemobj pool. The mix is that of the
// benchmark of the same name (Felber, Fetzer, Riegel, PPoPP 2008), whose persistent version
// (Bastelli, Baldassin, Francesquini, WSCAD 2022) is what the study `intset-measured` compares.
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

struct Asked {
  Mix mix{};
  std::uint64_t buckets = 0;
  bool in_pool = false;
  std::string pool;
  Bytes pool_bytes{};
  std::string structure;
  std::string reference;
  Safety safety = Safety::safe;
};

// What a structure's constructor wants to know: buckets, or keys.
template <typename Set>
std::uint64_t scale_of(const Asked& asked) {
  return std::string_view(Set::name) == "hash" ? asked.buckets : asked.mix.range;
}

template <template <typename, Safety> typename Structure>
class OnHeap final : public Workload {
  using Set = Structure<HeapMemory, Safety::safe>;

 public:
  explicit OnHeap(const Asked& asked)
      : run_(asked.mix),
        set_(memory_, *static_cast<typename Set::Root*>(memory_.root(sizeof(typename Set::Root))),
             scale_of<Set>(asked)) {}
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
  explicit InPool(const Asked& asked) : asked_(asked), run_(asked.mix) {
    check_new_pool(asked.pool);
  }

  void set_up() override {
    removed_.emplace(asked_.pool);
    pool_.make(asked_.pool, asked_.pool_bytes, asked_.mix.range, asked_.buckets);
    open();
    run_.fill(*set_);
  }
  void warm_up() override { run_.warm(*set_); }
  void run(Meter& meter) override { run_.run(*set_, meter); }
  void verify() override { run_.verify(*set_); }
  bool reopen() override {
    set_.reset();
    pool_.close();
    pool_.open(asked_.pool);
    open();
    return true;
  }
  [[nodiscard]] Durability durability() const override { return pool_.durability(); }

 private:
  void open() {
    set_ = std::make_unique<Set>(pool_.memory(), pool_.root().template of<Set>(),
                                 scale_of<Set>(asked_));
  }

  Asked asked_;
  SetRun<Set> run_;
  std::optional<RemovedAtEnd> removed_;
  SetPool<Reference> pool_;
  std::unique_ptr<Set> set_;
};

template <template <typename, Safety> typename Structure, typename Reference>
std::unique_ptr<Workload> in_pool(const Asked& asked) {
  switch (asked.safety) {
    case Safety::unlogged:
      return std::make_unique<InPool<Structure, Reference, Safety::unlogged>>(asked);
    case Safety::published:
      return std::make_unique<InPool<Structure, Reference, Safety::published>>(asked);
    case Safety::safe:
      break;
  }
  return std::make_unique<InPool<Structure, Reference, Safety::safe>>(asked);
}

#endif

template <template <typename, Safety> typename Structure>
std::unique_ptr<Workload> workload_of(const Asked& asked) {
#ifdef NEARFAR_HAVE_PMEM
  if (asked.in_pool) {
    return asked.reference == "offset" ? in_pool<Structure, Offset>(asked)
                                       : in_pool<Structure, Pmemoid>(asked);
  }
#else
  if (asked.in_pool) {
    throw MachineLacks(
        "memory=pool needs libpmemobj-dev, which was not there when nearfar was "
        "built: install it and build again");
  }
#endif
  return std::make_unique<OnHeap<Structure>>(asked);
}

Asked read(Arguments& given) {
  Asked asked;
  Mix& mix = asked.mix;
  mix.initial = given.count("initial");
  mix.range = given.count("range");
  mix.updates_percent = given.number("updates");
  mix.alternate = given.text("removes", {"drawn", "last"}) == "last";
  mix.length = {given.number("seconds") * 1e9};
  mix.operations = given.count("operations");
  mix.threads = static_cast<unsigned>(given.count("threads"));
  mix.seed = given.count("seed");
  asked.buckets = given.count("buckets");
  asked.in_pool = given.text("memory", {"volatile", "pool"}) == "pool";
  asked.pool = given.text("pool");
  asked.pool_bytes = given.size("pool_bytes");
  asked.structure = given.text("structure", {"list", "hash", "skip"});
  asked.reference = given.text("reference", {"pmemoid", "offset"});
  const std::string safety = given.text("safety", {"safe", "unlogged", "published"});
  asked.safety = safety == "unlogged"    ? Safety::unlogged
                 : safety == "published" ? Safety::published
                                         : Safety::safe;
  if (mix.range == 0) mix.range = 2 * mix.initial;
  if (mix.range < mix.initial || mix.range == 0 || mix.range > Requests::most_range) {
    throw BadArgument("range=" + std::to_string(mix.range) +
                      ": it must be at least initial, at least 1 and at most 2^32 keys");
  }
  if (mix.updates_percent < 0 || mix.updates_percent > 100) {
    throw BadArgument("updates is a share of operations in per cent, 0 to 100");
  }
  if (mix.operations == 0 && !(mix.length.count > 0)) {
    throw BadArgument("seconds must be more than 0 where operations does not say how many");
  }
  if (!std::has_single_bit(asked.buckets)) {
    throw BadArgument("buckets=" + std::to_string(asked.buckets) + " is not a power of two");
  }
  if (asked.safety != Safety::safe && !asked.in_pool) {
    throw BadArgument("safety=" + safety +
                      " says what a pool's transactions leave out: it needs "
                      "memory=pool");
  }
  return asked;
}

const Registered intset{{
    .name = "intset",
    .summary = "a sorted list, hash set or skip list of integers under look-ups and updates",
    .parameters = with_common(
        {{"structure", "list", "list (sorted), hash, or skip (a skip list)"},
         {"initial", "256", "keys that are there to begin with"},
         {"range", "0", "keys are drawn from this many; 0: from twice `initial`"},
         {"updates", "50", "per cent of operations that insert or remove, half of them each"},
         {"removes", "drawn", "drawn: any key; last: what the thread inserted last (published)"},
         {"seconds", "1", "length of the timed stretch, s"},
         {"operations", "0", "of each thread, in place of a length of time; 0: by time"},
         {"buckets", "131072", "of the hash set; a power of two (the published number)"},
         {"reference", "pmemoid", "between nodes of a pool: pmemoid (16 bytes), offset (8)"},
         {"safety", "safe",
          "safe; WRONG after a crash, for the study of what that hides: unlogged (transactions "
          "without snapshots), published (the published programs' steps)"}}),
    .make = [](Arguments& given) -> std::unique_ptr<Workload> {
      const Asked asked = read(given);
      if (asked.structure == "hash") return workload_of<HashSet>(asked);
      if (asked.structure == "skip") return workload_of<SkipList>(asked);
      return workload_of<List>(asked);
    },
#ifdef NEARFAR_HAVE_PMEM
    .check = check_sets,
    .dump = dump_sets,
    .drive = drive_sets,
#endif
}};

}  // namespace
}  // namespace nearfar::bench
