#include "profile/qemu/guest/send.hpp"

#include <time.h>
#include <unistd.h>

#include "profile/runtime/os.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace

Muted::Muted() {
  if (this_thread.id == 0) this_thread.id = static_cast<std::uint32_t>(gettid());
  mute_ = &ring->muted[this_thread.id % NF_RING_MUTES];
  __atomic_store_n(mute_, 1, __ATOMIC_SEQ_CST);
}

Muted::~Muted() { __atomic_store_n(mute_, 0, __ATOMIC_SEQ_CST); }

void send(nf_ring_kind kind, std::initializer_list<std::uint64_t> words, unsigned depth,
          const std::uint64_t* frames) {
  // Read before waiting for a slot, so that later samples are attributed to later events.
  const std::uint64_t when = ring->native != 0 ? now_ns() : 0;
  std::uint64_t slot = 0;
  if (nf_ring_take(ring, &slot) == 0) return;
  nf_ring_event* event = nf_ring_at(ring, slot);
  event->kind = kind;
  event->thread = this_thread.id;
  event->words[NF_RING_TIME] = when;
  unsigned at = 0;
  for (const std::uint64_t word : words) event->words[at++] = word;
  if (frames != nullptr) {
    event->words[at++] = depth;
    for (unsigned i = 0; i < depth; ++i) event->words[at++] = frames[i];
  }
  nf_ring_publish(event, slot);
}

std::uint64_t text_of(const char* text) { return nf_ring_text(ring, text); }

void drain() {
  unsigned turns = 0;
  const std::uint64_t sent = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) < sent) {
    if (__atomic_load_n(&ring->closed, __ATOMIC_RELAXED)) return;
    sched_yield();
    if (++turns % 4096 == 0 && kill(ring->reader, 0) != 0) return;
  }
}

}  // namespace nearfar::profile

// No accesses are listed here: QEMU's plugin, or the processor, reports them.
extern "C" int nf_settle_accesses(void) { return 1; }
extern "C" void nf_keep_owners(void) {}
