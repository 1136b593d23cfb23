// Time that a hypervisor took from CPUs, from /proc/stat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nearfar::measure {

// Every sample reads it with cold caches: most of the time passes in the kernel, and from Python
// the rest would take as long again. So a co-runner that only spins reads it after the sample,
// while the timing thread goes on. Copies share their state.
class StolenTicks {
 public:
  // Throws std::system_error if the file cannot be opened.
  StolenTicks(const std::string& path, const std::vector<unsigned>& cpus);

  // Returns the most ticks that one of the CPUs lost since the last call, up to a read ahead if
  // there was one; 0 if the kernel reports none of them.
  [[nodiscard]] std::uint64_t most_since_last_call() const;

  // Returns a function that reads for the next most_since_last_call(), on any thread. It does
  // nothing if that call, or another read_ahead(), came before.
  [[nodiscard]] std::function<void()> read_ahead() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace nearfar::measure
