#include "measure/paged.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>

#include "base/page_content.hpp"
#include "measure/threads.hpp"
#include "measure/ticks.hpp"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21  // Linux 5.4
#endif

namespace nearfar::measure {
namespace {

// A touch that takes longer may have been interrupted by another thread.
constexpr float long_ns = 20'000;
constexpr std::uint64_t record = 32;
constexpr std::uint64_t noise_of_record = 8;
constexpr std::size_t words = 64;
constexpr std::uint64_t contents_looked_at = 64;

using Page = std::array<unsigned char, os::base_page.count>;

void fill_records(Page& page, std::mt19937_64& random) {
  for (std::uint64_t at = 0; at < page.size(); at += record) {
    const std::uint64_t noise = random();
    std::memcpy(page.data() + at, &noise, noise_of_record);
  }
}

void fill_noise(Page& page, std::mt19937_64& random) {
  for (std::uint64_t at = 0; at < page.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t noise = random();
    std::memcpy(page.data() + at, &noise, sizeof noise);
  }
}

using Dictionary = std::array<std::array<std::uint64_t, 2>, words>;

Dictionary make_dictionary() {
  std::mt19937_64 letters(words);
  Dictionary dictionary{};
  for (auto& word : dictionary) word = {letters(), letters()};
  return dictionary;
}

void fill_words(Page& page, std::mt19937_64& random) {
  static const Dictionary dictionary = make_dictionary();
  for (std::uint64_t at = 0; at < page.size();) {
    const std::uint64_t draw = random();
    const auto& word = dictionary[draw % words];
    const std::uint64_t left = page.size() - at;
    const std::uint64_t letters_of_word = std::min(left, 4 + word[1] % 8);
    std::memcpy(page.data() + at, word.data(), letters_of_word);
    const std::uint64_t between = std::min(left - letters_of_word, draw >> 32 & 3U);
    std::memcpy(page.data() + at + letters_of_word, reinterpret_cast<const char*>(&draw) + 5,
                between);
    at += letters_of_word + between;
  }
}

// Returns the time in which the calling thread was runnable and another thread had the CPU; 0 if
// the kernel does not report it.
double waited_ns() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen("/proc/thread-self/schedstat", "r"), [](std::FILE* f) { return std::fclose(f); });
  unsigned long long ran = 0;
  unsigned long long waited = 0;
  if (!file || std::fscanf(file.get(), "%llu %llu", &ran, &waited) != 2) return 0;
  return static_cast<double>(waited);
}

std::uint64_t major_faults() {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_majflt) : 0;
}

class Stopwatch {
 public:
  [[nodiscard]] Spent stop(std::uint64_t pages) const {
    // CPU time first: reading the wait opens a file.
    const double cpu = os::thread_cpu_time().count - cpu_;
    const double wall = os::wall_time().count - wall_;
    const double waited = waited_ns() - waited_;
    return {{std::max(wall - waited, cpu)}, {cpu}, pages};
  }

 private:
  double waited_ = waited_ns();
  double wall_ = os::wall_time().count;
  double cpu_ = os::thread_cpu_time().count;
};

}  // namespace

PageData page_data(std::string_view name) {
  if (name == "records") return PageData::records;
  if (name == "noise") return PageData::noise;
  if (name == "words") return PageData::words;
  throw std::invalid_argument("pages have records, noise or words, not " + std::string(name));
}

PagedRegion::PagedRegion(Bytes size, bool huge)
    : size_(size),
      data_(os::map_anonymous(size, huge ? os::Pages::transparent_huge : os::Pages::base)) {}

PagedRegion::~PagedRegion() { os::unmap(data_, size_); }

void PagedRegion::fill(PageData data, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Page page{};
  for (std::uint64_t i = 0; i < pages(); ++i) {
    switch (data) {
      case PageData::records:
        fill_records(page, random);
        break;
      case PageData::noise:
        fill_noise(page, random);
        break;
      case PageData::words:
        fill_words(page, random);
        break;
    }
    // The first word differs, so that no page is one repeated word, which zram stores as such.
    const std::uint64_t number = i + 1;
    std::memcpy(page.data(), &number, sizeof number);
    std::memcpy(data_ + i * os::base_page.count, page.data(), page.size());
  }
}

std::uint64_t PagedRegion::compression_work() const {
  std::uint64_t work = 0;
  const std::uint64_t count = std::min(pages(), contents_looked_at);
  for (std::uint64_t i = 0; i < count; ++i)
    work += estimate_compression(
                reinterpret_cast<const unsigned char*>(data_ + i * os::base_page.count))
                .work;
  return work / count;
}

std::uint64_t PagedRegion::resident() const {
  std::vector<unsigned char> present(pages());
  if (mincore(data_, size_.count, present.data()) != 0) os::fail(errno, "ask which pages are here");
  return static_cast<std::uint64_t>(
      std::ranges::count_if(present, [](unsigned char page) { return (page & 1U) != 0; }));
}

Spent PagedRegion::evict() {
  const std::uint64_t before = resident();
  const Stopwatch watch;
  if (madvise(data_, size_.count, MADV_PAGEOUT) != 0) os::fail(errno, "send pages to swap");
  return watch.stop(before);
}

Sweep PagedRegion::touch(const std::vector<unsigned>& cpus, bool write, bool in_order,
                         std::uint64_t seed) {
  Sweep sweep;
  sweep.each_ns.resize(pages());
  std::vector<std::uint32_t> order(pages());
  std::iota(order.begin(), order.end(), 0U);
  if (!in_order) std::ranges::shuffle(order, std::mt19937_64(seed));
  const double per_tick = tick_clock().per_tick.count;
  const std::uint64_t part = pages() / cpus.size();
  std::vector<Spent> spent(cpus.size());
  std::vector<std::uint64_t> major(cpus.size());
  Threads threads;
  for (std::size_t t = 0; t < cpus.size(); ++t) {
    threads.start(cpus[t], [&, t] {
      const std::uint64_t begin = t * part;
      const std::uint64_t end = t + 1 == cpus.size() ? pages() : begin + part;
      threads.arrive();
      threads.sleep_until(static_cast<unsigned>(cpus.size()));
      const std::uint64_t faults = major_faults();
      long switches = os::involuntary_switches();
      const Stopwatch watch;
      for (std::uint64_t i = begin; i < end && !threads.stopping(); ++i) {
        auto* word = reinterpret_cast<volatile std::uint64_t*>(data_ + std::uint64_t{order[i]} *
                                                                           os::base_page.count);
        const std::uint64_t before = ticks_before();
        if (write) {
          *word = i + 1;
        } else {
          static_cast<void>(*word);
        }
        const auto ticks = static_cast<double>(ticks_after() - before);
        auto took_ns = static_cast<float>(ticks * per_tick);
        if (took_ns > long_ns) {
          const long now = os::involuntary_switches();
          if (now != switches) took_ns = std::numeric_limits<float>::quiet_NaN();
          switches = now;
        }
        sweep.each_ns[i] = took_ns;
      }
      spent[t] = watch.stop(end - begin);
      major[t] = major_faults() - faults;
    });
  }
  threads.join();
  for (std::size_t t = 0; t < cpus.size(); ++t) {
    sweep.spent.wall.count += spent[t].wall.count;
    sweep.spent.cpu.count += spent[t].cpu.count;
    sweep.spent.pages += spent[t].pages;
    sweep.major += major[t];
  }
  return sweep;
}

Sweep PagedRegion::touch_again(unsigned cpu, std::uint64_t count, std::uint64_t seed) {
  Sweep sweep;
  Threads threads;
  threads.start(cpu, [&] {
    std::minstd_rand random(static_cast<std::uint32_t>(seed));
    std::uniform_int_distribution<std::uint64_t> page(0, pages() - 1);
    const std::uint64_t faults = major_faults();
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < count; ++i) {
      static_cast<void>(
          *reinterpret_cast<volatile std::uint64_t*>(data_ + page(random) * os::base_page.count));
    }
    sweep.spent = watch.stop(count);
    sweep.major = major_faults() - faults;
  });
  threads.join();
  return sweep;
}

}  // namespace nearfar::measure
