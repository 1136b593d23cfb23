#include "sim/device/replay.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/device/dispatch.hpp"

namespace nearfar::sim {
namespace {

struct ReplayJob {
  template <typename Vector>
  static ReplayResult with(Memory& memory, std::span<const std::uint64_t> stream) {
    ReplayResult replayed;
    replayed.accesses_by_level.resize(memory.levels());
    const Nanoseconds before = memory.now();
    const std::uint64_t written_back = memory.written_back();
    while (!stream.empty()) {
      const std::size_t count = std::min(stream.size(), Memory::max_batch);
      std::uint32_t* requests = memory.requests();
      std::uint64_t any = 0;
      for (std::size_t i = 0; i < count; ++i) {
        any |= stream[i];
        requests[i] = static_cast<std::uint32_t>(stream[i] >> 7U << 1U | (stream[i] & 1U));
      }
      const auto beyond = [](std::uint64_t word) { return word >> 7U >= max_blocks; };
      if (beyond(any) && std::any_of(stream.begin(), stream.begin() + count, beyond)) {
        throw std::out_of_range("a simulated address is beyond 128 GiB: simulate a smaller region");
      }
      memory.template batch<Vector>(count, (any & 1U) != 0, replayed.accesses_by_level.data());
      stream = stream.subspan(count);
    }
    replayed.elapsed = memory.now() - before;
    replayed.written_back = memory.written_back() - written_back;
    return replayed;
  }
};

}  // namespace

ReplayResult replay(Memory& memory, std::span<const std::uint64_t> stream, Isa isa) {
  return dispatch<ReplayJob>(isa, memory, stream);
}

}  // namespace nearfar::sim
