// Time that a hypervisor took from CPUs, from /proc/stat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nearfar::measure {

// Every sample reads it with cold caches: most of the time passes in the kernel, and from Python
// the rest would take as long again.
class StolenTicks {
 public:
  // Throws std::system_error if the file cannot be opened.
  StolenTicks(const std::string& path, const std::vector<unsigned>& cpus);
  StolenTicks(const StolenTicks&) = delete;
  StolenTicks& operator=(const StolenTicks&) = delete;
  ~StolenTicks();

  // Returns the most ticks that one of the CPUs lost since the last call; 0 if the kernel reports
  // none of them.
  std::uint64_t most_since_last_call();

 private:
  struct Cpu {
    unsigned number = 0;
    std::uint64_t ticks = 0;
    bool known = false;
  };
  std::vector<Cpu> cpus_;
  std::vector<char> head_;
  int file_ = -1;
};

}  // namespace nearfar::measure
