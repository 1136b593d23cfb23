#include "crash/explore/accepted_states.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace nearfar::crash {

namespace {

// 2 MiB: in a larger table each page would be a page fault for each worker. A key is not shared if
// all slots near its own are used.
constexpr std::uint64_t slots = 1 << 18;
constexpr std::uint64_t bytes = slots * sizeof(std::uint64_t);
constexpr unsigned max_probes = 32;

}  // namespace

AcceptedStates::AcceptedStates(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("cannot open " + path);
  void* mapped = ftruncate(file, bytes) != 0
                     ? MAP_FAILED
                     : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  slots_ = static_cast<std::uint64_t*>(mapped);
}

AcceptedStates::~AcceptedStates() { munmap(slots_, bytes); }

bool AcceptedStates::has(std::uint64_t key) const {
  for (unsigned i = 0; i < max_probes; ++i) {
    const std::uint64_t stored = __atomic_load_n(&slots_[(key + i) % slots], __ATOMIC_RELAXED);
    if (stored == key) return true;
    if (stored == 0) return false;
  }
  return false;
}

void AcceptedStates::add(std::uint64_t key) {
  for (unsigned i = 0; i < max_probes; ++i) {
    std::uint64_t stored = 0;
    if (__atomic_compare_exchange_n(&slots_[(key + i) % slots], &stored, key, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
        stored == key) {
      return;
    }
  }
}

}  // namespace nearfar::crash
