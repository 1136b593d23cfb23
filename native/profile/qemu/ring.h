/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
 *
 * The ring of events through which a plain build under QEMU reports to nearfar, in the run folder's
 * file `ring`. Three separate parts write or read it:
 *
 *   plugin.c   inside QEMU, reports accesses to sampled lines (GPL, as QEMU's interface requires);
 *   guest/     preloaded into the program, reports allocations and loaded files; a frame with the
 *              highest bit set is the offset of a name in the ring's text (interpreter.hpp);
 *   replay/    inside `nearfar profile`, simulates the reported events.
 *
 * Several threads write, one reads. A writer takes the next slot, waits until it is free, fills it
 * and publishes it by its `turn`; so events are read in the order of slots. Addresses are the
 * program's. If the processor itself samples accesses (native/profile/counters), the program runs
 * without QEMU, and only guest/ and replay/ use the ring.
 */
#ifndef NEARFAR_PROFILE_QEMU_RING_H
#define NEARFAR_PROFILE_QEMU_RING_H

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NF_RING_FILE "ring"
#define NF_RING_MAGIC 0x37474E4952464E00ull /* "\0NFRING7" */
/* An invalid call number, by which the program detects the plugin. */
#define NF_RING_HELLO 0x4E460001l
/* Holds 40 ms of sampled accesses of a program that does nothing but access memory. */
#define NF_RING_EVENTS (1u << 15)
/* Paths of mapped files: space for some thousands. */
#define NF_RING_TEXT (1u << 20)
#define NF_RING_FRAMES 8
#define NF_RING_TIME 13 /* index among the event's words */
/* Threads whose accesses are temporarily not reported, by the low bits of their number. */
#define NF_RING_MUTES 4096u

enum nf_ring_kind {
  NF_RING_ACCESS = 1, /* address, instruction, block of instructions, is_store, bytes */
  NF_RING_ALLOCATED,  /* address, bytes, tag, depth, frames */
  NF_RING_FREED,      /* address, bytes */
  NF_RING_KEPT,       /* address, bytes: the preceding free was undone */
  NF_RING_MAPPED,     /* address, bytes, page of the file * 2 + accessible, path, depth, frames */
  NF_RING_UNMAPPED,   /* address, bytes */
  NF_RING_MOVED,      /* from, bytes, to, bytes */
  NF_RING_ACCESSIBLE, /* address, bytes */
  NF_RING_MODULE,     /* load bias, begin, end, path */
  NF_RING_SEGMENT,    /* address, bytes, path, is_code */
  NF_RING_STACK,      /* begin, end */
  NF_RING_NAMED,      /* address, bytes, tag or 0 */
  NF_RING_PIECE,      /* address, bytes, tag, depth, frames: a block inside a mapping */
  NF_RING_LOOK        /* the phase is about to change: counts so far belong to the current one */
};

struct nf_ring_event {
  uint64_t turn; /* slot: free; slot + 1: contains the slot's event */
  uint32_t kind;
  uint32_t thread;
  uint64_t words[14]; /* the last word: time in ns of CLOCK_MONOTONIC; 0 under QEMU */
};

struct nf_ring {
  uint64_t magic;
  uint32_t sampling; /* 1 until enough accesses were sampled */
  uint32_t closed;   /* 1: the reader has ended; events are dropped */
  uint32_t attached; /* number of hellos that the plugin received */
  uint32_t open;     /* 1: accesses are reported */
  uint32_t forks;    /* number of children, which are not profiled */
  uint32_t threads;  /* most of the program's threads that were alive at once */
  uint32_t threads_alive;
  uint32_t replaced;     /* 1: the program called exec, which QEMU does not follow */
  uint32_t native;       /* 1: without QEMU: the first process that attaches reports */
  int32_t process;       /* ID of that process */
  uint64_t instructions; /* executed so far, approximate: concurrent updates may be lost */
  /* An access is reported if ((((a >> 12) * multiplier) >> shift) ^ a) & mask is 0. */
  uint64_t mask;
  uint64_t page_mask; /* or if the same expression & page_mask is 0 */
  uint64_t multiplier;
  uint64_t shift;
  /* An access is reported while `instructions` is below this. */
  uint64_t sample_until;
  /* Instructions to sample from the first mark on; 0: all. The first mark sets `sample_until`
   * accordingly, unless sampling began at the start. */
  uint64_t sample_instructions;
  uint64_t own_begin; /* address range of the preloaded library's code, which is not profiled */
  uint64_t own_end;
  /* Frame for memory that the program maps by system calls of its own instead of C library
   * functions; the plugin reports these mappings. 0: the preloaded library reports mappings. */
  uint64_t own_calls;
  uint32_t text_used;
  int32_t reader; /* ID of the reading process */
  uint64_t head __attribute__((aligned(64)));
  uint64_t tail __attribute__((aligned(64)));
  uint8_t muted[NF_RING_MUTES] __attribute__((aligned(64)));
  char text[NF_RING_TEXT];
  struct nf_ring_event events[NF_RING_EVENTS] __attribute__((aligned(64)));
};

static inline int nf_ring_sampled_enough(const struct nf_ring* ring) {
  return __atomic_load_n(&ring->instructions, __ATOMIC_RELAXED) >=
         __atomic_load_n(&ring->sample_until, __ATOMIC_RELAXED);
}

static inline struct nf_ring_event* nf_ring_at(struct nf_ring* ring, uint64_t slot) {
  return &ring->events[slot % NF_RING_EVENTS];
}

/* Takes a slot, to be filled and then published by nf_ring_publish; returns 0 if the reader has
 * ended. */
static inline int nf_ring_take(struct nf_ring* ring, uint64_t* slot) {
  unsigned turns = 0;
  *slot = __atomic_fetch_add(&ring->head, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&nf_ring_at(ring, *slot)->turn, __ATOMIC_ACQUIRE) != *slot) {
    if (__atomic_load_n(&ring->closed, __ATOMIC_RELAXED)) return 0;
    sched_yield();
    /* The reader may have been killed. */
    if (++turns % 4096 == 0 && kill(ring->reader, 0) != 0) ring->closed = 1;
  }
  return 1;
}

static inline void nf_ring_publish(struct nf_ring_event* event, uint64_t slot) {
  __atomic_store_n(&event->turn, slot + 1, __ATOMIC_RELEASE);
}

/* Returns the offset of a copy of `text` in the ring; 0 for none. */
static inline uint64_t nf_ring_text(struct nf_ring* ring, const char* text) {
  if (!text || *text == '\0') return 0;
  const uint32_t size = (uint32_t)strlen(text) + 1;
  if (__atomic_load_n(&ring->text_used, __ATOMIC_RELAXED) + size > NF_RING_TEXT) return 0;
  const uint32_t place = __atomic_fetch_add(&ring->text_used, size, __ATOMIC_RELAXED);
  if (place + size > NF_RING_TEXT) return 0;
  memcpy(ring->text + place, text, size);
  return place;
}

#ifdef __cplusplus
}
#endif
#endif
