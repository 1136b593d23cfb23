// stream: McCalpin's copy, scale, add and triad on arrays in a pool or in plain memory.
//
// Bytes are counted as in STREAM: the loop's reads and writes, without reads for ownership.
#include <algorithm>
#include <array>
#include <barrier>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "bench/kind.hpp"
#include "bench/storage.hpp"

namespace nearfar::bench {
namespace {

enum class Stores { plain, flushed, streamed };

constexpr std::size_t kernels = 4;
constexpr std::array<const char*, kernels> names{"copy", "scale", "add", "triad"};
constexpr std::array<double, kernels> arrays{2, 2, 3, 3};  // arrays touched by each kernel

// STREAM's scalar 3 makes all elements infinite within some 260 rounds, and then any content looks
// correct. With the square root of 2 + 2^-30, minus 1, a round multiplies `a` by 1 + 2^-30: every
// round changes all numbers, for more rounds than ever run.
constexpr double scalar = 0.4142135627023673;

// Initial values of STREAM.
constexpr double first_a = 1.0;
constexpr double first_b = 2.0;
constexpr double first_c = 0.0;

struct Arrays {
  double* a;
  double* b;
  double* c;
};

template <typename Value>
void plain(double* to, std::uint64_t from, std::uint64_t end, Value value) {
  for (std::uint64_t i = from; i < end; ++i) to[i] = value(i);
}

template <typename Value>
void streamed(double* to, std::uint64_t from, std::uint64_t end, Value value) {
#if defined(__x86_64__)
  for (std::uint64_t i = from; i < end; i += 2) {
    _mm_stream_pd(to + i, _mm_set_pd(value(i + 1), value(i)));
  }
  _mm_sfence();
#else
  plain(to, from, end, value);
#endif
}

// Runs elements [from, end) of a kernel; returns the array that it wrote.
template <typename Loop>
double* work(std::size_t kernel, const Arrays& at, Loop loop) {
  switch (kernel) {
    case 0:
      loop(at.c, [&](std::uint64_t i) { return at.a[i]; });
      return at.c;
    case 1:
      loop(at.b, [&](std::uint64_t i) { return scalar * at.c[i]; });
      return at.b;
    case 2:
      loop(at.c, [&](std::uint64_t i) { return at.a[i] + at.b[i]; });
      return at.c;
    default:
      loop(at.a, [&](std::uint64_t i) { return at.b[i] + scalar * at.c[i]; });
      return at.a;
  }
}

class Stream final : public Workload {
 public:
  explicit Stream(Arguments& arguments)
      : elements_(arguments.count("elements") / granule * granule),
        rounds_(arguments.count("rounds")),
        threads_(static_cast<unsigned>(arguments.count("threads"))),
        storage_(arguments, "nearfar-stream-1", "three arrays") {
    (void)arguments.count("seed");
    const std::string stores = arguments.text("stores", {"plain", "flushed", "streamed"});
    stores_ = stores == "flushed"    ? Stores::flushed
              : stores == "streamed" ? Stores::streamed
                                     : Stores::plain;
    if (elements_ == 0 || rounds_ == 0 || threads_ == 0) {
      throw BadArgument("elements must be at least 8, rounds and threads at least 1");
    }
    storage_.check();
    if (!storage_.in_pool() && stores_ == Stores::flushed) {
      throw BadArgument("stores=flushed needs memory=pool");
    }
  }

  void set_up() override {
    place(storage_.make(3 * elements_ * sizeof(double)));
    storage_.seal();
    std::fill_n(at_.a, elements_, first_a);
    std::fill_n(at_.b, elements_, first_b);
    std::fill_n(at_.c, elements_, first_c);
  }

  void run(Meter& meter) override {
    // Like STREAM: the best of all rounds except the first, if there are several.
    std::array<double, kernels> best_ns{};
    best_ns.fill(std::numeric_limits<double>::infinity());
    std::barrier<> together(threads_);
    meter.timed(threads_, [&](Lane& lane) {
      const std::uint64_t granules = elements_ / granule;
      const std::uint64_t from = granules * lane.index / threads_ * granule;
      const std::uint64_t end = granules * (lane.index + 1) / threads_ * granule;
      for (std::uint64_t round = 0; round < rounds_; ++round) {
        for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
          together.arrive_and_wait();
          const double before = os::wall_time().count;
          lane.operation([&] { part(kernel, from, end); });
          together.arrive_and_wait();
          const double ns = os::wall_time().count - before;
          if (lane.index == 0 && (round > 0 || rounds_ == 1)) {
            best_ns[kernel] = std::min(best_ns[kernel], ns);
          }
        }
      }
    });
    for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
      const double bytes = arrays[kernel] * static_cast<double>(elements_ * sizeof(double));
      meter.note(std::string(names[kernel]) + "_gb_per_s", bytes / best_ns[kernel]);
    }
    meter.say("stores", stores_ == Stores::flushed    ? "flushed after each kernel"
                        : stores_ == Stores::streamed ? "non-temporal, and a fence"
                                                      : "plain, not made durable");
  }

  void verify() override {
    double a = first_a;
    double b = first_b;
    double c = first_c;
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      c = a;
      b = scalar * c;
      c = a + b;
      a = b + scalar * c;
    }
    const std::array<std::pair<const double*, double>, 3> expected{
        {{at_.a, a}, {at_.b, b}, {at_.c, c}}};
    for (const auto& [array, value] : expected) {
      // The same operations in the same order give exact results.
      const auto* wrong = std::find_if(
          array, array + elements_,
          [expected_value = value](double element) { return !(element == expected_value); });
      if (wrong != array + elements_) {
        throw WrongContent("element " + std::to_string(wrong - array) + " is " +
                           std::to_string(*wrong) + " instead of " + std::to_string(value));
      }
    }
  }

  bool reopen() override {
    std::byte* const begin = storage_.reopen();
    if (begin == nullptr) return false;
    place(begin);
    return true;
  }

  [[nodiscard]] Durability durability() const override {
    Durability durability = storage_.durability();
    if (!storage_.in_pool()) return durability;
    if (stores_ == Stores::plain) {
      durability.instructions = "none";
      durability.survives = "nothing: plain stores stay in the caches";
    } else if (stores_ == Stores::streamed) {
      if (storage_.is_pmem()) {
        durability.instructions = "non-temporal stores and sfence";
      } else {
        durability = {"none", "nothing: non-temporal stores only reach the page cache"};
      }
    }
    return durability;
  }

 private:
  static constexpr std::uint64_t granule = 8;  // a line, so that threads share none

  void place(std::byte* at) noexcept {
    at_.a = reinterpret_cast<double*>(at);
    at_.b = at_.a + elements_;
    at_.c = at_.b + elements_;
  }
  void part(std::size_t kernel, std::uint64_t from, std::uint64_t end) {
    if (stores_ == Stores::streamed) {
      work(kernel, at_, [&](double* to, auto value) { streamed(to, from, end, value); });
      return;
    }
    const double* const wrote =
        work(kernel, at_, [&](double* to, auto value) { plain(to, from, end, value); });
    if (stores_ == Stores::flushed) storage_.persist(wrote + from, (end - from) * sizeof(double));
  }

  std::uint64_t elements_;
  std::uint64_t rounds_;
  unsigned threads_;
  Storage storage_;
  Stores stores_ = Stores::plain;
  Arrays at_{};
};

const Registered stream{{
    .name = "stream",
    .summary = "STREAM's copy, scale, add and triad on arrays in a pool or in plain memory",
    .parameters = with_common(
        {{"elements", "2000000", "doubles of each of the three arrays"},
         {"rounds", "10", "rounds of the four kernels; the best time of each counts"},
         {"stores", "plain",
          "plain; flushed: each kernel's result is made durable; streamed: non-temporal"}}),
    .make = [](Arguments& arguments) -> std::unique_ptr<Workload> {
      return std::make_unique<Stream>(arguments);
    },
}};

}  // namespace
}  // namespace nearfar::bench
