// spmv: multiplies a sparse matrix in a pool (or plain memory) by a vector.
//
// Rows have the same number of entries in random columns. All numbers are small integers, so that
// sums are exact in any order, and the result is recomputed from the generating rule, without the
// matrix.
#include <algorithm>
#include <memory>
#include <string>

#include "bench/kind.hpp"
#include "bench/pattern.hpp"
#include "bench/storage.hpp"

namespace nearfar::bench {
namespace {

constexpr std::uint64_t max_value = 15;

struct Rule {
  std::uint64_t rows;
  std::uint64_t entries;  // per row
  std::uint64_t seed;

  [[nodiscard]] std::uint64_t random_word(std::uint64_t row, std::uint64_t entry) const noexcept {
    return mixed(seed + row * entries + entry);
  }
  [[nodiscard]] std::uint32_t column(std::uint64_t row, std::uint64_t entry) const noexcept {
    return static_cast<std::uint32_t>(((random_word(row, entry) >> 32U) * rows) >> 32U);
  }
  [[nodiscard]] double value(std::uint64_t row, std::uint64_t entry) const noexcept {
    return static_cast<double>(1 + random_word(row, entry) % max_value);
  }
  [[nodiscard]] double vector(std::uint64_t column) const noexcept {
    return static_cast<double>(1 + mixed(seed ^ column) % max_value);
  }
  [[nodiscard]] double product(std::uint64_t row) const noexcept {
    double sum = 0;
    for (std::uint64_t i = 0; i < entries; ++i) sum += value(row, i) * vector(column(row, i));
    return sum;
  }
};

// Compressed sparse rows and the two vectors, contiguous.
struct Arrays {
  double* values;
  double* x;
  double* y;
  std::uint64_t* begins;
  std::uint32_t* columns;

  static std::uint64_t bytes(const Rule& rule) noexcept {
    const std::uint64_t all = rule.rows * rule.entries;
    return (all + 2 * rule.rows) * sizeof(double) + (rule.rows + 1) * sizeof(std::uint64_t) +
           all * sizeof(std::uint32_t);
  }
  static Arrays at(std::byte* begin, const Rule& rule) noexcept {
    const std::uint64_t all = rule.rows * rule.entries;
    Arrays arrays{};
    arrays.values = reinterpret_cast<double*>(begin);
    arrays.x = arrays.values + all;
    arrays.y = arrays.x + rule.rows;
    arrays.begins = reinterpret_cast<std::uint64_t*>(arrays.y + rule.rows);
    arrays.columns = reinterpret_cast<std::uint32_t*>(arrays.begins + rule.rows + 1);
    return arrays;
  }
};

class SpMV final : public Workload {
 public:
  explicit SpMV(Arguments& arguments)
      : rule_{arguments.count("rows"), arguments.count("entries"), arguments.count("seed")},
        rounds_(arguments.count("rounds")),
        threads_(static_cast<unsigned>(arguments.count("threads"))),
        persist_(arguments.flag("persist")),
        storage_(arguments, "nearfar-spmv-1", "matrix and vectors") {
    constexpr std::uint64_t max_rows = 1ULL << 32U;
    if (rule_.rows == 0 || rule_.rows >= max_rows || rule_.entries == 0 || rounds_ == 0 ||
        threads_ == 0) {
      throw BadArgument("rows (below 2^32), entries, rounds and threads must be at least 1");
    }
    storage_.check();
  }

  void set_up() override {
    const std::uint64_t bytes = Arrays::bytes(rule_);
    std::byte* const begin = storage_.make(bytes);
    at_ = Arrays::at(begin, rule_);
    std::uint64_t next = 0;
    for (std::uint64_t row = 0; row < rule_.rows; ++row) {
      at_.begins[row] = next;
      at_.x[row] = rule_.vector(row);
      at_.y[row] = 0;
      for (std::uint64_t i = 0; i < rule_.entries; ++i, ++next) {
        at_.columns[next] = rule_.column(row, i);
        at_.values[next] = rule_.value(row, i);
      }
    }
    at_.begins[rule_.rows] = next;
    storage_.persist(begin, bytes);
    storage_.seal();
  }
  void warm_up() override { multiply(0, rule_.rows); }

  void run(Meter& meter) override {
    std::fill_n(at_.y, rule_.rows, 0.0);
    meter.timed(threads_, [&](Lane& lane) {
      const std::uint64_t from = rule_.rows * lane.index / threads_;
      const std::uint64_t end = rule_.rows * (lane.index + 1) / threads_;
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        lane.operation([&] { part(from, end); });
      }
    });
    const auto all = static_cast<double>(rule_.rows * rule_.entries * rounds_);
    const double ns = std::max(meter.wall.count, 1.0);
    meter.note("gflop_per_s", 2 * all / ns);
    // Read once per round: values, columns, row offsets; and the result.
    const double per_row = sizeof(std::uint64_t) + sizeof(double);
    meter.note("matrix_gb_per_s", (all * (sizeof(double) + sizeof(std::uint32_t)) +
                                   static_cast<double>(rule_.rows * rounds_) * per_row) /
                                      ns);
  }

  void verify() override {
    for (std::uint64_t row = 0; row < rule_.rows; ++row) {
      if (at_.y[row] != rule_.product(row)) {
        throw WrongContent("row " + std::to_string(row) + " of the product is " +
                           std::to_string(at_.y[row]) + " instead of " +
                           std::to_string(rule_.product(row)));
      }
    }
  }
  bool reopen() override {
    std::byte* const begin = storage_.reopen();
    if (begin == nullptr) return false;
    at_ = Arrays::at(begin, rule_);
    verify();                 // the stored result
    multiply(0, rule_.rows);  // and the stored matrix
    return true;
  }
  [[nodiscard]] Durability durability() const override {
    Durability durability = storage_.durability();
    if (!storage_.in_pool() || persist_) return durability;
    return {"none for the result; " + durability.instructions + " for the matrix",
            durability.survives};
  }

 private:
  void multiply(std::uint64_t from, std::uint64_t end) noexcept {
    for (std::uint64_t row = from; row < end; ++row) {
      double sum = 0;
      for (std::uint64_t i = at_.begins[row]; i < at_.begins[row + 1]; ++i) {
        sum += at_.values[i] * at_.x[at_.columns[i]];
      }
      at_.y[row] = sum;
    }
  }
  void part(std::uint64_t from, std::uint64_t end) {
    multiply(from, end);
    if (persist_ && end > from) storage_.persist(at_.y + from, (end - from) * sizeof(double));
  }

  Rule rule_;
  std::uint64_t rounds_;
  unsigned threads_;
  bool persist_;
  Storage storage_;
  Arrays at_{};
};

const Registered spmv{{
    .name = "spmv",
    .summary = "a sparse matrix in a pool or in plain memory times a vector",
    .parameters = with_common({{"rows", "100000", "rows and columns"},
                               {"entries", "16", "entries of each row, in random columns"},
                               {"rounds", "10", "products"},
                               {"persist", "1", "1: each product is made durable; 0: it is not"}}),
    .make = [](Arguments& arguments) -> std::unique_ptr<Workload> {
      return std::make_unique<SpMV>(arguments);
    },
}};

}  // namespace
}  // namespace nearfar::bench
