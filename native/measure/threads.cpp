#include "measure/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/os.hpp"

namespace nearfar::measure {
namespace {

// Waits until `done`; returns false after a while. Bodies that are stopped end within a block of
// their kernel, some 50 us, and the next sample starts some 200 us later. To sleep and to be woken
// takes as long.
bool spin_until(auto done) noexcept {
  constexpr Nanoseconds longest{500e3};
  const Nanoseconds end = os::wall_time() + longest;
  while (!done()) {
    if (os::wall_time() > end) return false;
    relax();
  }
  return true;
}

// Runs one job after another and sleeps in between. Its thread ends with the process.
class KeptThread {
 public:
  explicit KeptThread(unsigned cpu) : cpu_(cpu) {
    std::thread([this] { work(); }).detach();
  }

  [[nodiscard]] bool is_free(unsigned cpu) const {
    return cpu == cpu_ && !busy_.load(std::memory_order_acquire);
  }
  // `after` runs once this thread is free again.
  void run(std::function<void()> job, std::function<void()> after) {
    job_ = std::move(job);
    after_ = std::move(after);
    busy_.store(true, std::memory_order_release);
    busy_.notify_one();
  }

 private:
  [[noreturn]] void work() {
    while (true) {
      spin_until([this] { return busy_.load(std::memory_order_acquire); });
      busy_.wait(false, std::memory_order_acquire);
      std::exchange(job_, nullptr)();
      const auto after = std::exchange(after_, nullptr);
      busy_.store(false, std::memory_order_release);
      after();
    }
  }

  const unsigned cpu_;  // where its last job ran, so that the next need not move
  std::atomic<bool> busy_{false};
  std::function<void()> job_;
  std::function<void()> after_;
};

// The kept threads of this process. They use it until the process ends, so it is never destroyed. A
// forked child has none of them.
class Pool {
 public:
  static Pool& get() {
    static Pool* pool = nullptr;
    static std::once_flag once;
    std::call_once(once, [] {
      pool = new Pool;
      pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
    });
    return *pool;
  }
  void run(unsigned cpu, std::function<void()> job, std::function<void()> after) {
    const std::lock_guard lock(mutex_);
    auto free =
        std::ranges::find_if(threads_, [&](const auto& thread) { return thread->is_free(cpu); });
    if (free == threads_.end()) {
      free = threads_.insert(free, std::make_unique<KeptThread>(cpu));
    }
    (*free)->run(std::move(job), std::move(after));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<KeptThread>> threads_;
};

}  // namespace

void Threads::State::run(unsigned cpu, const std::function<void()>& body) noexcept {
  try {
    os::pin_thread(cpu);
    body();
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    stopping.store(true, std::memory_order_relaxed);
    arrive();  // releases threads that wait for this one
  }
}

void Threads::start(unsigned cpu, const std::function<void()>& body) {
  Pool::get().run(
      cpu, [state = state_, cpu, body] { state->run(cpu, body); },
      [state = state_] {
        state->ended.fetch_add(1);
        state->ended.notify_all();
      });
  ++started_;
}

void Threads::spin(unsigned cpu, const std::function<void()>& after) {
  Pool::get().run(
      cpu,
      [state = state_, cpu, after] {
        state->run(cpu, [&] {
          state->arrive();
          while (!state->stopping.load(std::memory_order_relaxed)) relax();
          if (after) after();
        });
      },
      [] {});
}

void Threads::sleep_until(unsigned count) const {
  for (unsigned arrived = state_->arrived.load(); arrived < count && !stopping();
       arrived = state_->arrived.load()) {
    state_->arrived.wait(arrived);
  }
}

void Threads::wait_for_end(bool soon) noexcept {
  if (soon && spin_until([this] { return state_->ended.load() == started_; })) return;
  for (unsigned ended = state_->ended.load(); ended != started_; ended = state_->ended.load()) {
    state_->ended.wait(ended);
  }
}

void Threads::join(bool soon) {
  wait_for_end(soon);
  const std::lock_guard lock(state_->mutex);
  if (state_->failure) std::rethrow_exception(state_->failure);
}

void Threads::stop() noexcept {
  state_->stopping.store(true, std::memory_order_relaxed);
  arrive();  // wakes threads that sleep until others arrive
  wait_for_end(true);
}

}  // namespace nearfar::measure
