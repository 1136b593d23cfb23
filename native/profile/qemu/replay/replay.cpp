#include "profile/qemu/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile/abi.h"
#include "profile/counters/collect.hpp"
#include "profile/qemu/replay/events.hpp"
#include "profile/qemu/replay/instructions.hpp"
#include "profile/runtime/interpreter.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/pages.hpp"
#include "profile/runtime/reuse.hpp"
#include "profile/runtime/run_folder.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

__thread Thread this_thread __attribute__((tls_model("initial-exec"))) = {};
Runtime runtime;

void register_new_thread() { this_thread.id = static_cast<std::uint32_t>(gettid()); }

}  // namespace nearfar::profile

namespace {

using namespace nearfar::profile;
namespace sim = nearfar::sim;

const std::uint32_t no_phase = 0;
nf_ring* ring = nullptr;
std::uint64_t sample_ns = 0;
std::uint64_t sampling_began_ns = 0;
std::uint64_t instructions_seen = 0;
nf_replay_facts facts;
bool stop = false;

std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

int make_ring(std::uint32_t rate_log2, bool open_now) {
  char path[path_size];
  if (!run_folder_file(path, NF_RING_FILE)) return ENAMETOOLONG;
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  // Allocates the space now; otherwise a full disk would raise SIGBUS in the program later.
  int error = posix_fallocate(file, 0, sizeof(nf_ring));
  if (error == 0) {
    ring = static_cast<nf_ring*>(map_memory(sizeof(nf_ring), MAP_SHARED, file));
    if (ring == nullptr) error = errno;
  }
  close(file);
  if (error != 0) return error;
  for (std::uint64_t i = 0; i < NF_RING_EVENTS; ++i) ring->events[i].turn = i;
  ring->sample_until = UINT64_MAX;
  ring->mask = NF_FILTER_MASK(rate_log2);
  ring->page_mask = NF_PAGE_MASK;
  ring->multiplier = NF_HASH_MULTIPLIER;
  ring->shift = NF_HASH_SHIFT;
  ring->sampling = 1;
  ring->reader = getpid();
  ring->open = open_now ? 1 : 0;
  ring->text_used = 1;  // offset 0 means no text
  ring->magic = NF_RING_MAGIC;
  return 0;
}

int make_runtime(unsigned rate_log2) {
  char path[path_size];
  if (!run_folder_file(path, "control")) return ENAMETOOLONG;
  runtime = Runtime();
  runtime.control = nf_control_open(path);
  if (runtime.control == nullptr) return errno;
  nf_phase_word = &runtime.control->slots[0].phase;
  nf_counting_word = &runtime.control->counting;
  runtime.lines = sim::SampledLines(rate_log2);
  char message[sizeof runtime.control->message] = "";
  runtime.header = create_process_file(runtime.control->memory_bytes, message, sizeof message);
  if (runtime.header == nullptr) return errno != 0 ? errno : ENOSPC;
  ProcessHeader& header = *runtime.header;
  header.rate_log2 = rate_log2;
  const auto geometry = sim::CacheGeometry::of(nearfar::Bytes{runtime.control->cache_bytes},
                                               runtime.control->cache_ways, rate_log2);
  void* ways = reserve_memory(geometry.lines() * sizeof(sim::LineWord));
  if (ways == nullptr || !runtime.shadow.reserve(runtime.lines) || !runtime.regions.reserve() ||
      !reserve_reuse() || !reserve_pages(false)) {
    return ENOMEM;
  }
  runtime.cache = sim::LruCache(geometry, static_cast<sim::LineWord*>(ways));
  header.cache_sets = geometry.sets;
  header.cache_ways = geometry.ways;
  runtime.strings.attach(header);
  runtime.sites.attach(header, header.sites);
  runtime.instructions.attach(header, header.instructions);
  runtime.counters.attach(header, header.counters);
  runtime.curves.attach(header, header.curves);
  runtime.pages.attach(header, header.pages);
  runtime.ranges.attach(header, header.ranges);
  const ObjectKind kinds[first_free_site] = {ObjectKind::unknown, ObjectKind::heap,
                                             ObjectKind::unknown, ObjectKind::stack};
  for (std::uint32_t site = 0; site < first_free_site; ++site) {
    runtime.sites.find_or_add(site + 1, thread_id(),
                              [&](SiteRecord& record) { record.kind = kinds[site]; });
  }
  return 0;
}

void attribute_instructions(std::uint64_t now, std::uint32_t phase) {
  if (now <= instructions_seen) return;
  facts.instructions[phase] += now - instructions_seen;
  const std::uint64_t until = ring->sample_until < now ? ring->sample_until : now;
  if (ring->sampling != 0 && until > instructions_seen) {
    facts.sampled[phase] += until - instructions_seen;
  }
  instructions_seen = now;
}

// Minimum time between readings of the counters within a phase: a reading interrupts the program's
// processors.
constexpr std::uint64_t min_reading_period_ns = 10'000'000;
std::uint64_t counted_at_ns = 0;
std::uint32_t counted_phase = 0;
// The program announced a change of phase: later counts belong to the next.
bool phase_ended = false;

void count_natively(std::uint32_t phase) {
  attribute_instructions(read_counters(phase, ring->sampling != 0), phase);
  counted_at_ns = now_ns();
}

// Attributes the instructions since the last call to the current phase.
void attribute_work() {
  const std::uint32_t phase = nf_current_phase();
  if (!counts_natively()) {
    attribute_instructions(__atomic_load_n(&ring->instructions, __ATOMIC_RELAXED), phase);
    return;
  }
  // Marks from outside the program are not announced, so the counts so far belong to the previous
  // phase.
  if (phase != counted_phase || now_ns() - counted_at_ns > min_reading_period_ns) {
    count_natively(phase_ended ? phase : counted_phase);
    if (phase != counted_phase) phase_ended = false;
  }
  counted_phase = phase;
}

void end_sampling() {
  facts.sampled_to_the_end = 0;
  attribute_work();
  __atomic_store_n(&ring->sampling, 0, __ATOMIC_RELEASE);
}

void end_sampling_if_complete() {
  if (ring->sampling != 0 && nf_ring_sampled_enough(ring) != 0) end_sampling();
  if (sample_ns == 0 || ring->sampling == 0 || *nf_counting_word == 0 || ring->open == 0) return;
  const std::uint64_t now = now_ns();
  if (sampling_began_ns == 0) sampling_began_ns = now;
  if (now - sampling_began_ns >= sample_ns) end_sampling();
}

// Handles up to `max_count` events; returns false if there were none.
bool read_events(unsigned max_count) {
  const std::uint64_t begin = ring->tail;
  std::uint64_t end = begin;
  while (end < begin + max_count &&
         __atomic_load_n(&nf_ring_at(ring, end)->turn, __ATOMIC_ACQUIRE) == end + 1) {
    ++end;
  }
  // `end` was read before: by now, all samples from before these events are in the kernel's rings.
  const bool native = counts_natively();
  if (native) read_samples();
  for (std::uint64_t at = begin; at < end; ++at) {
    nf_ring_event& event = *nf_ring_at(ring, at);
    if (native) count_samples_until(event.words[NF_RING_TIME]);
    handle(*ring, event);
    __atomic_store_n(&event.turn, at + NF_RING_EVENTS, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->tail, at + 1, __ATOMIC_RELEASE);
  }
  return end != begin;
}

}  // namespace

void nearfar::profile::end_phase() {
  if (counts_natively()) {
    count_natively(counted_phase = nf_current_phase());
    phase_ended = true;
  } else {
    attribute_work();
  }
}

const std::uint32_t* nf_phase_word = &no_phase;
const std::uint32_t* nf_counting_word = &no_phase;

int nf_replay_open(const char* folder, std::uint32_t rate_log2, std::uint64_t sample,
                   int accesses_from_start, std::uint64_t sample_instructions,
                   int sample_from_start) {
  if (setenv(run_folder_variable, folder, 1) != 0) return errno;
  int error = make_runtime(rate_log2);
  if (error == 0) error = make_ring(rate_log2, accesses_from_start != 0);
  unsetenv(run_folder_variable);
  if (error != 0) return error;
  ring->sample_instructions = sample_instructions;
  if (sample_from_start != 0 && sample_instructions != 0) {
    ring->sample_until = sample_instructions;
  }
  sample_ns = sample;
  sampling_began_ns = 0;
  instructions_seen = 0;
  facts = {};
  facts.sampled_to_the_end = 1;
  stop = false;
  counted_at_ns = 0;
  phase_ended = false;
  counted_phase = nf_current_phase();
  reset_counters();
  reset_instructions();
  reset_sequences();
  restart_live();
  runtime.active = true;
  return 0;
}

void nf_replay_module(std::uint64_t begin, std::uint64_t end, const char* path) {
  nf_ring_event event{};
  const std::uint64_t place = nf_ring_text(ring, path);
  event.kind = NF_RING_MODULE;
  event.words[1] = begin;
  event.words[2] = end;
  event.words[3] = place;
  handle(*ring, event);
  event.kind = NF_RING_SEGMENT;
  event.words[0] = begin;
  event.words[1] = end - begin;
  event.words[2] = place;
  event.words[3] = 0;
  handle(*ring, event);
}

void nf_replay_own_calls(const char* name) {
  char text[64];
  snprintf(text, sizeof text, "0\t%s\t", name);
  ring->own_calls = named_frame_bit | nf_ring_text(ring, text);
}

void nf_replay_native() { ring->native = 1; }

void nf_replay_run() {
  register_new_thread();
  // Long enough that idling costs little, and short compared with any phase.
  constexpr timespec pause{0, 100'000};
  constexpr unsigned batch = 256;
  for (;;) {
    const bool last = __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
    const std::uint64_t before_ns = now_ns();
    const bool any = read_events(batch);
    // There is no event until then, so the memory map has not changed.
    if (!any && counts_natively()) count_samples_until(last ? UINT64_MAX : before_ns);
    attribute_work();
    end_sampling_if_complete();
    if (!any && last) break;
    if (!any) nanosleep(&pause, nullptr);
  }
  if (counts_natively()) {
    count_natively(nf_current_phase());
    close_counters();
  }
  runtime.header->threads = ring->threads;
}

void nf_replay_stop() { __atomic_store_n(&stop, true, __ATOMIC_RELEASE); }

std::uint64_t nf_replay_sampled_instructions() {
  if (ring == nullptr || __atomic_load_n(&ring->sampling, __ATOMIC_ACQUIRE) == 0) return 0;
  return __atomic_load_n(&ring->instructions, __ATOMIC_RELAXED);
}

void nf_replay_close() {
  if (ring == nullptr) return;
  __atomic_store_n(&ring->closed, 1, __ATOMIC_RELEASE);
  facts.attached = ring->attached;
  facts.forks = ring->forks;
  facts.replaced = ring->replaced;
  release_memory(ring, sizeof *ring);
  ring = nullptr;
  nf_phase_word = &no_phase;
  nf_counting_word = &no_phase;
  nf_control_close(runtime.control);
  runtime.control = nullptr;
  runtime.active = false;
}

void nf_replay_read_facts(nf_replay_facts* result) { *result = facts; }
