// Threads on atomics, compare-exchange, thread-local data, a condition variable.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

static std::atomic<long> total{0};
static std::atomic<unsigned> highest{0};
static thread_local long mine[512];
static std::mutex mutex;
static std::condition_variable ready;
static int waiting = 0;

static void work(std::vector<std::atomic<int>>& shared, unsigned id) {
  {
    std::unique_lock lock(mutex);
    ++waiting;
    ready.notify_all();
    ready.wait(lock, [] { return waiting == 4; });
  }
  for (unsigned i = 0; i < 20000; ++i) {
    shared[(i * 7919 + id) % shared.size()].fetch_add(1);
    mine[i % 512] += id;
    unsigned seen = highest.load();
    while (seen < i && !highest.compare_exchange_weak(seen, i)) {
    }
  }
  for (const long value : mine) total += value;
}

int main() {
  std::vector<std::atomic<int>> shared(4096);
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 4; ++id) threads.emplace_back(work, std::ref(shared), id);
  for (auto& thread : threads) thread.join();
  long sum = 0;
  for (const auto& value : shared) sum += value;
  std::printf("%ld %ld %u\n", sum, total.load(), highest.load());
}
