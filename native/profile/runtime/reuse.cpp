#include "profile/runtime/reuse.hpp"

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"
#include "sim/reuse/reuse_tracker.hpp"

namespace nearfar::profile {

namespace {

sim::ReuseTracker tracker;
std::uint32_t tracker_lock;

unsigned bucket_of(std::uint64_t distance) {
  return curve_bucket(distance << runtime.lines.rate_log2() << 6);
}

void count_touch(std::uint32_t phase, const ReuseTouch& touch,
                 const sim::ReuseTracker::Touch& touched, CounterBatch* batch) {
  const std::uint64_t key =
      std::uint64_t{phase} << 48 | std::uint64_t{touch.site} << 32 | (touch.store ? 1u : 0u);
  CurveRecord* curve = runtime.curves.find_or_add(key, this_thread.id, [](CurveRecord&) {});
  if (curve == nullptr) return;
  const std::uint64_t weight = std::uint64_t{1} << touched.weight_log2;
  count(batch, touched.known ? curve->near[bucket_of(touched.distance)] : curve->beyond, weight);
  if (!touched.far) return;
  const unsigned bucket = touched.far_known ? bucket_of(touched.far_distance) : curve_buckets - 1;
  count(batch, curve->far[bucket], std::uint64_t{1} << touched.far_weight_log2);
}

}  // namespace

bool reserve_reuse() {
  void* memory = reserve_hot_memory(sim::ReuseTracker::bytes());
  if (memory == nullptr) return false;
  tracker = sim::ReuseTracker(memory);
  return true;
}

void unlock_reuse() { tracker_lock = 0; }

bool reuse_samples(std::uint64_t line) { return sim::ReuseTracker::sampled(line); }

void prefetch_reuse(std::uint64_t line) { tracker.prefetch(line); }

void count_reuse(std::uint32_t phase, std::uint16_t site, std::uint64_t line, bool store) {
  const ReuseTouch touch{line, site, store};
  count_reuses(phase, &touch, 1, nullptr);
}

void count_reuses(std::uint32_t phase, const ReuseTouch* touches, unsigned touch_count,
                  CounterBatch* batch) {
  sim::ReuseTracker::Touch touched[max_reuse_touches];
  {
    Lock const lock(tracker_lock, this_thread.id);
    for (unsigned i = 0; i < touch_count; ++i) touched[i] = tracker.touch(touches[i].line);
  }
  for (unsigned i = 0; i < touch_count; ++i) count_touch(phase, touches[i], touched[i], batch);
}

}  // namespace nearfar::profile
