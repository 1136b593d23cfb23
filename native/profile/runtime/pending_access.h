/* Accesses that a thread has reported and that are not simulated yet.
 *
 * Reporting an access appends it to this list, in a few instructions. The runtime simulates a full
 * list at once. So it can prefetch the entries of its tables that all of them need, and the
 * program's own misses still overlap between two lists. A list is also simulated before large
 * memory changes owners, before marks, and when its thread ends. A killed process loses at most one
 * list per thread.
 *
 * While there are several threads, one may assign the memory of another thread's listed accesses to
 * another owner. So the owner is noted with each access. If memory has no owner yet, because it is
 * touched for the first time, the list is simulated immediately. */
#ifndef NEARFAR_PROFILE_PENDING_ACCESS_H
#define NEARFAR_PROFILE_PENDING_ACCESS_H

#include <stdint.h>

#include "profile/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nf_pending_access {
  uint64_t address;
  uint32_t site;
  uint16_t owner; /* 0: the owner of the memory when the access is simulated */
  uint16_t is_store;
};

/* The shadow (shadow.hpp), and how it is indexed. */
extern const uint16_t* nf_owners;
extern unsigned nf_owners_inner_log2;
static inline uint16_t nf_owner_at(uint64_t address) {
  return nf_owners[nf_ordinal(address, nf_owners_inner_log2) * 4 + (address >> 4 & 3)];
}

/* A longer list would exceed the static TLS available to a library that is loaded late. */
#define NF_PENDING_ACCESSES 32

struct nf_pending {
  uint32_t count;
  uint32_t done;  /* number of simulated entries, while the list is being simulated */
  uint32_t owned; /* number of entries whose owner is known or will not change */
  struct nf_pending_access list[NF_PENDING_ACCESSES];
};
/* At first the list is full and simulated, so that a thread's first access registers the thread. */
extern __thread struct nf_pending nf_pending __attribute__((tls_model("initial-exec")));

/* Simulates the list and empties it. Returns 0 if a signal has interrupted this thread while it was
 * already doing so. */
int nf_settle_accesses(void);

/* The whole page (abi.h) of the last appended access: page << 1 | 1 if it was stored to. */
extern __thread uint64_t nf_recent_page __attribute__((tls_model("initial-exec")));
/* NF_FILTER_MASK of the process, as in the instrumented code. */
extern uint64_t nf_line_mask;

/* Returns whether an access adds nothing: it touches the same whole page as the last one, outside
 * the page's sampled line. Otherwise every access to a hot page would be appended. */
static inline int nf_repeats_page(uint64_t address, uint32_t is_store) {
  const uint64_t touched = address >> 12 << 1 | is_store;
  if (nf_recent_page == touched || nf_recent_page == (touched | 1))
    return !nf_sampled(address, nf_line_mask);
  if (nf_whole(address)) nf_recent_page = touched;
  return 0;
}

/* Appends an access if the list may be full or the memory may have no owner yet. */
void nf_append_slowly(uint64_t address, uint32_t site, uint32_t is_store);

/* Notes the owners of the listed accesses, before a small block's memory changes its owner. */
void nf_keep_owners(void);

/* Writes an entry. `place` is the count, which is below the list's size and read only once, because
 * a signal handler may append too. If a handler does so before the count is stored, its own
 * accesses are lost. */
static inline void nf_append_access(uint32_t place, uint64_t address, uint32_t site, uint16_t owner,
                                    uint16_t is_store) {
  struct nf_pending_access* access = &nf_pending.list[place];
  access->address = address;
  access->site = site;
  access->owner = owner;
  access->is_store = is_store;
  nf_pending.count = place + 1;
}

#ifdef __cplusplus
}
#endif
#endif
