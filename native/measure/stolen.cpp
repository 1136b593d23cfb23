#include "measure/stolen.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/os.hpp"

namespace nearfar::measure {
namespace {

// Index of stolen ticks in a CPU's line (proc(5)), and the longest line.
constexpr unsigned steal_field = 8;
constexpr std::size_t max_line = 256;

// Removes the first word of `line`, and the spaces before it, and returns it.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

template <typename Number>
bool parse(std::string_view word, Number& number) {
  return std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc{};
}

}  // namespace

class StolenTicks::State {
 public:
  State(const std::string& path, const std::vector<unsigned>& cpus)
      // The lines of all CPUs up to the last; the rest of the file is long.
      : head_(max_line * (2 + (cpus.empty() ? 0 : std::ranges::max(cpus)))),
        file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) os::fail(errno, ("open " + path).c_str());
    for (const unsigned cpu : cpus) cpus_.push_back({.number = cpu});
    read();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { close(file_); }

  std::uint64_t take() {
    const std::lock_guard lock(mutex_);
    awaited_ = 0;
    if (!std::exchange(is_ahead_, false)) untaken_ += read();
    return std::exchange(untaken_, 0);
  }
  // Returns the number that read_ahead() must be called with.
  std::uint64_t announce() {
    const std::lock_guard lock(mutex_);
    is_ahead_ = false;
    return awaited_ = ++announced_;
  }
  void read_ahead(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (number != awaited_) return;
    awaited_ = 0;
    untaken_ += read();
    is_ahead_ = true;
  }

 private:
  struct Cpu {
    unsigned number = 0;
    std::uint64_t ticks = 0;
    bool known = false;
  };

  std::uint64_t read();

  std::mutex mutex_;
  std::vector<Cpu> cpus_;
  std::vector<char> head_;
  int file_ = -1;
  std::uint64_t announced_ = 0;  // how often
  std::uint64_t awaited_ = 0;    // number of the read ahead that may still begin; 0: none
  bool is_ahead_ = false;        // it was read, and not taken yet
  // More than one read's if a call failed and nobody took them.
  std::uint64_t untaken_ = 0;
};

std::uint64_t StolenTicks::State::read() {
  const ssize_t size = pread(file_, head_.data(), head_.size(), 0);
  std::string_view head(head_.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::uint64_t most = 0;
  while (head.starts_with("cpu")) {
    std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    unsigned number = 0;
    if (!parse(next_word(line).substr(3), number)) continue;  // the sum of all CPUs
    const auto cpu = std::ranges::find(cpus_, number, &Cpu::number);
    if (cpu == cpus_.end()) continue;
    std::string_view word;
    for (unsigned field = 0; field < steal_field; ++field) word = next_word(line);
    std::uint64_t ticks = 0;
    if (!parse(word, ticks)) continue;
    if (cpu->known && ticks > cpu->ticks) most = std::max(most, ticks - cpu->ticks);
    cpu->ticks = ticks;
    cpu->known = true;
  }
  return most;
}

StolenTicks::StolenTicks(const std::string& path, const std::vector<unsigned>& cpus)
    : state_(std::make_shared<State>(path, cpus)) {}

std::uint64_t StolenTicks::most_since_last_call() const { return state_->take(); }

std::function<void()> StolenTicks::read_ahead() const {
  return [state = state_, number = state_->announce()] { state->read_ahead(number); };
}

}  // namespace nearfar::measure
