#include "measure/lane.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace nearfar::measure {
namespace {

Bytes region_of(const Worker& worker) {
  const Bytes all = worker.memory->size();
  if (worker.region > all) throw std::invalid_argument("the region is larger than its memory");
  return worker.region.count == 0 ? all : worker.region;
}

void check(const Worker& worker) {
  const Kernel& kernel = *worker.kernel;
  if (worker.memory == nullptr) throw std::invalid_argument("a kernel needs a memory");
  check(worker.shape);
  if (worker.chains < 1 || worker.chains > kernel.max_chains()) {
    throw std::invalid_argument("this kernel has 1 to " + std::to_string(kernel.max_chains()) +
                                " chains");
  }
  if (worker.parts < 1 || worker.part >= worker.parts) {
    throw std::invalid_argument("the part must be below the number of parts");
  }
  if (worker.second != nullptr && !kernel.has_target()) {
    throw std::invalid_argument("this kernel does not copy to a second memory");
  }
  if (const auto reason = kernel.missing(*worker.operations); !reason.empty()) {
    throw std::invalid_argument("this processor " + reason);
  }
}

}  // namespace

Lane lane_of(const Worker& worker) {
  check(worker);
  Memory& memory = *worker.memory;
  const Bytes region = region_of(worker);
  if (const Links links = worker.kernel->links(); links != Links::none) {
    const LinkSet* set = memory.linked(region, worker.shape, links);
    if (set == nullptr) throw std::logic_error("this kernel needs linked memory");
    // Several threads share the cycle; each has its own part.
    return {.base = memory.data(),
            .lines = region / cache_line,
            .order = set->order.empty() ? nullptr : set->order.data(),
            .visits = set->visits,
            .link = set->word,
            .position = set->position + set->visits / worker.parts * worker.part,
            .chains = worker.chains,
            .shape = worker.shape,
            .operations = worker.operations};
  }
  std::uint64_t lines = region / cache_line / worker.parts;
  std::byte* target = nullptr;
  if (worker.second != nullptr) {
    const Bytes second = worker.region.count == 0 ? worker.second->size() : worker.region;
    if (second > worker.second->size()) {
      throw std::invalid_argument("the region is larger than the second memory");
    }
    lines = std::min(lines, second / cache_line / worker.parts);
    target = worker.second->data() + worker.part * lines * cache_line.count;
  }
  // A kernel divides its lane into up to four arrays or into groups of eight lines. Kernels with
  // fences do not divide it and can wear out a single block.
  const std::uint64_t min_accesses = worker.kernel->traffic(worker.shape).fences > 0 ? 1 : 8;
  if (lines < min_accesses * worker.shape.access_lines()) {
    throw std::invalid_argument("a thread's part of the region is smaller than " +
                                std::to_string(min_accesses) + " accesses");
  }
  return {.base = memory.data() + worker.part * lines * cache_line.count,
          .lines = lines,
          .target = target,
          .position = memory.position,
          .skipped = memory.skipped,
          .chains = worker.chains,
          .shape = worker.shape,
          .operations = worker.operations};
}

void prepare_memory(const Worker& worker) {
  if (worker.kernel == nullptr) return;
  check(worker);
  const Links links = worker.kernel->links();
  if (links != Links::none) worker.memory->link(region_of(worker), worker.shape, links);
  const Traffic traffic = worker.kernel->traffic(worker.shape);
  if (traffic.stored().count == 0) return;
  if (worker.kernel->has_target() && traffic.non_temporal.count != 0)
    worker.memory->fill(region_of(worker));
  (worker.second == nullptr ? worker.memory : worker.second)->forget_links();
}

void save_position(const Worker& worker, const Lane& lane) {
  if (const Links links = worker.kernel->links(); links != Links::none) {
    LinkSet* set = worker.memory->linked(region_of(worker), worker.shape, links);
    if (set == nullptr) return;
    const std::uint64_t begin = set->visits / worker.parts * worker.part;
    set->position = std::max(set->position, lane.position - begin);
    return;
  }
  // The next run continues behind the worker that came furthest.
  if (lane.position > worker.memory->position) {
    worker.memory->position = lane.position;
    worker.memory->skipped = lane.skipped;
  }
}

}  // namespace nearfar::measure
