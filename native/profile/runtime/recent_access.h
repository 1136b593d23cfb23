/* Cache of recent accesses, which counts repeated accesses without look-ups.
 *
 * Most accesses to sampled lines are to a few hot ones: the same instruction on the same 16 bytes
 * of a line that is its set's most recent. These change only a count. An entry describes such an
 * access and points to its count; it is valid while the words it points to are unchanged, so it is
 * never invalidated explicitly.
 */
#ifndef NEARFAR_PROFILE_RECENT_ACCESS_H
#define NEARFAR_PROFILE_RECENT_ACCESS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nf_recent_access {
  uint64_t granule; /* address / 16; 0: free */
  uint32_t site;
  uint16_t owner;
  uint16_t phase;
  uint64_t word;       /* the line's word in its set, with the dirty bit set */
  const uint64_t* way; /* of the set's most recent line */
  const uint16_t* tag; /* owner of the granule's memory */
  uint64_t* accesses;
};

/* More entries would exceed the static TLS available to a library that is loaded late. */
#define NF_RECENT_ACCESSES 32

extern __thread struct nf_recent_access nf_recent_accesses[NF_RECENT_ACCESSES]
    __attribute__((tls_model("initial-exec")));
/* Words of the control page; they point to zeros while the runtime is inert. */
extern const uint32_t* nf_phase_word;
extern const uint32_t* nf_counting_word;

/* The whole page (abi.h) that this thread touched last: page << 1 | stored to. Further accesses to
 * it are no news, unless to sampled lines. */
extern __thread uint64_t nf_recent_page __attribute__((tls_model("initial-exec")));
/* Mask of sampled lines at this run's rate. */
extern uint64_t nf_line_mask;

static inline uint32_t nf_current_phase(void) {
  /* Phase 0 lasts until counting begins. */
  return __atomic_load_n(nf_counting_word, __ATOMIC_RELAXED) != 0
             ? __atomic_load_n(nf_phase_word, __ATOMIC_RELAXED) & 255
             : 0;
}

static inline struct nf_recent_access* nf_recent_place(uint64_t granule, uint32_t site) {
  return &nf_recent_accesses[(granule >> 2 ^ site) % NF_RECENT_ACCESSES];
}

#ifdef __cplusplus
}
#endif
#endif
