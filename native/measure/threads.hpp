// Threads that stop on request and report their failures to the creator.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

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

// Runs bodies on pinned threads, which sleep afterwards and run later bodies: starting and joining
// threads takes 100 us, 0.5 % of a sample, and milliseconds where their cores are busy. Waits for
// its bodies in join() or the destructor.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { stop(); }

  // Runs `body` on `cpu`. It must return soon after stopping() turns true.
  void start(unsigned cpu, const std::function<void()>& body);
  // Arrives on `cpu` and spins there until stopping() turns true, then calls `after`, if any.
  // Nothing waits for its end.
  void spin(unsigned cpu, const std::function<void()>& after = {});

  [[nodiscard]] bool stopping() const { return state_->stopping.load(std::memory_order_relaxed); }

  void arrive() { state_->arrive(); }
  [[nodiscard]] bool have_arrived(unsigned count) const { return state_->arrived.load() >= count; }
  // Sleeps until `count` threads have called arrive(). For a thread that may share its core with
  // one of them.
  void sleep_until(unsigned count) const;

  // Waits for the bodies and rethrows the first failure. `soon`: they end within a block of their
  // kernel, so this spins at first; else it leaves the cores to them.
  void join(bool soon = false);
  void stop() noexcept;

 private:
  // Outlives this object while a thread still spins.
  struct State {
    void arrive() {
      arrived.fetch_add(1);
      arrived.notify_all();
    }
    void run(unsigned cpu, const std::function<void()>& body) noexcept;

    std::atomic<bool> stopping{false};
    std::atomic<unsigned> arrived{0};
    std::atomic<unsigned> ended{0};
    std::mutex mutex;
    std::exception_ptr failure;
  };

  void wait_for_end(bool soon) noexcept;

  std::shared_ptr<State> state_ = std::make_shared<State>();
  unsigned started_ = 0;
};

}  // namespace nearfar::measure
