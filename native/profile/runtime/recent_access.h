/* Accesses that repeat are counted without looking anything up again.
 *
 * Most accesses to sampled lines are to a few hot ones: the same instruction on the same 16 bytes
 * of a line that is its set's most recent. These change nothing but a count. An entry describes
 * such an access and points to its count; it is valid while the words it points to are unchanged,
 * so nothing needs to invalidate it.
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

/* More would exceed what a library may use of the static TLS block when it is loaded late. */
#define NF_RECENT_ACCESSES 32

extern __thread struct nf_recent_access nf_recent_accesses[NF_RECENT_ACCESSES]
    __attribute__((tls_model("initial-exec")));
/* Of the control page; they point to zeros while the run time is inert. */
extern const uint32_t* nf_phase_word;
extern const uint32_t* nf_counting_word;

static inline uint32_t nf_current_phase(void) {
  /* Phase 0 is what comes before counting begins. */
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
