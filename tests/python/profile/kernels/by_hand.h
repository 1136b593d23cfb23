/* What the compiler pass writes into a program, written by hand: tests of the run time use this, so
 * that they do not depend on the pass. Compile with clang, -I native, and link
 * -lnearfar_profile. */
#ifndef BY_HAND_H
#define BY_HAND_H

#include "profile/abi.h"

#ifndef RATE_LOG2
#define RATE_LOG2 6
#endif

/* One instruction per access class, so that a site's number says its class. */
enum { OPAQUE, STREAM, INDIRECT, CHASE, WRITER };

static const struct nf_site by_hand_sites[] = {
    {"opaque", "by_hand.c", 1, 1, 8, NF_LOAD, NF_OPAQUE, 1, ""},
    {"stream", "by_hand.c", 2, 1, 8, NF_LOAD, NF_STREAM, 1, ""},
    {"indirect", "by_hand.c", 3, 1, 8, NF_LOAD, NF_INDIRECT, 1, ""},
    {"chase", "by_hand.c", 4, 1, 8, NF_LOAD, NF_CHASE, 1, ""},
    {"writer", "by_hand.c", 5, 1, 8, NF_STORE, NF_STREAM, 1, ""},
};
static struct nf_module by_hand_module = {
    NF_ABI_VERSION, RATE_LOG2, 5, 0, by_hand_sites, "clang by hand",
};
__attribute__((constructor)) static void by_hand_register(void) { __nf_register(&by_hand_module); }

static inline void touched(const void* address, uint32_t site, uint32_t is_store) {
  if (nf_sampled((uint64_t)address, NF_FILTER_MASK(RATE_LOG2)))
    __nf_access(address, by_hand_module.first_site + site, is_store);
}

#define LOAD(lvalue, site) (touched(&(lvalue), site, 0), (lvalue))
#define STORE(lvalue, value) (touched(&(lvalue), WRITER, 1), (lvalue) = (value))

#endif
