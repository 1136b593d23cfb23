// Threads that stop on request and report their failures to the creator.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nearfar::measure {

inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Joins its threads in join() or the destructor; join() rethrows the first failure.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { stop(); }

  // `body` must return soon after stopping() turns true.
  void start(std::function<void()> body) {
    threads_.emplace_back([this, body = std::move(body)] {
      try {
        body();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        stopping_.store(true, std::memory_order_relaxed);
        arrive();  // releases threads that wait for this one
      }
    });
  }

  [[nodiscard]] bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  void arrive() {
    arrived_.fetch_add(1);
    arrived_.notify_all();
  }
  [[nodiscard]] bool have_arrived(unsigned count) const { return arrived_.load() >= count; }
  // Sleeps until `count` threads have called arrive(). For a thread that may share its core with
  // one of them.
  void sleep_until(unsigned count) const {
    for (unsigned arrived = arrived_.load(); arrived < count && !stopping();
         arrived = arrived_.load()) {
      arrived_.wait(arrived);
    }
  }

  void join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    if (failure_) std::rethrow_exception(failure_);
  }
  void stop() noexcept {
    stopping_.store(true, std::memory_order_relaxed);
    arrive();  // wakes threads that sleep until others arrive
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::atomic<bool> stopping_{false};
  std::atomic<unsigned> arrived_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace nearfar::measure
