/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
 *
 * How often each block of instructions ran under QEMU, in the run folder's file `blocks`. `nearfar
 * profile` makes the file where it may need to find the place in the program where sampling ended
 * (nearfar/profile/sources/sampled_end.py); without the file the plugin counts no blocks.
 */
#ifndef NEARFAR_PROFILE_QEMU_BLOCKS_H
#define NEARFAR_PROFILE_QEMU_BLOCKS_H

#include <stdint.h>

#define NF_BLOCKS_FILE "blocks"
/* A power of two. Further blocks are not counted. */
#define NF_BLOCKS 65536u

struct nf_block {
  uint64_t address; /* 0: unused */
  uint64_t bytes;
  uint64_t count; /* number of executions, approximate: concurrent updates may be lost */
};

#endif
