/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
 *
 * The run folder's file `bursts`: short stretches of everything that a thread executes, written by
 * the plugin bursts.c and read by nearfar/profile/bursts/file.py (same layout there).
 *
 * A burst is a list of executed *blocks* (code without a jump inside, as QEMU translates it) and a
 * list of accesses to memory. Blocks refer to instructions, stored once with their bytes;
 * dependences are decoded from these after the run.
 */
#ifndef NEARFAR_PROFILE_QEMU_BURSTS_H
#define NEARFAR_PROFILE_QEMU_BURSTS_H

#include <stdint.h>

#define NF_BURSTS_FILE "bursts"
#define NF_BURSTS_MAGIC 0x315354535242464eull /* "NFBRSTS1" */
#define NF_BURST_PHASES 256
/* Number of phases with bursts: the first ones entered. */
#define NF_BURST_TRACED 16
/* Bursts per phase, spread over the whole phase. At this number, every second one is dropped and
 * the interval doubles. */
#define NF_BURSTS_PER_PHASE 32
#define NF_BURST_ACCESSES 2000
/* A burst also ends after this many instructions, in code that hardly touches memory. */
#define NF_BURST_BLOCKS 6000
#define NF_BURST_CODE (1u << 16)
#define NF_BURST_CODE_BLOCKS (1u << 15)
/* Initial distance between bursts in instructions. It is little more than a burst's length, so that
 * a phase of a millisecond has some bursts. */
#define NF_BURST_INTERVAL 16000u

struct nf_burst_instruction {
  uint64_t address;
  uint8_t size;
  uint8_t bytes[15];
};

struct nf_burst_block {
  uint64_t address;
  uint64_t end;   /* address of the next instruction in memory */
  uint32_t first; /* index of its first instruction */
  uint32_t count;
};

struct nf_burst_access {
  uint64_t address;
  uint64_t value;       /* loaded 8-byte value; 0 if it could not be read */
  uint32_t block;       /* index in the burst's list of blocks */
  uint16_t instruction; /* index in the block of that entry */
  uint8_t bytes;
  uint8_t store;
};

struct nf_burst {
  uint32_t thread;
  uint32_t block_count;
  uint32_t access_count;
  uint32_t closed;
  uint64_t at; /* instructions that the phase executed before it */
  uint32_t blocks[NF_BURST_BLOCKS];
  struct nf_burst_access accesses[NF_BURST_ACCESSES];
};

struct nf_burst_phase {
  uint64_t instructions; /* approximate: concurrent updates by threads may be lost */
  uint64_t next;
  uint64_t interval;
  uint32_t base;                      /* index of its first burst, plus 1; 0: none */
  uint32_t count;                     /* number of bursts */
  uint8_t order[NF_BURSTS_PER_PHASE]; /* indices of the phase's bursts, in order of time */
};

struct nf_bursts {
  uint64_t magic;
  /* Offsets in the file `control` of the current phase and of the flag that it counts. */
  uint32_t phase_offset;
  uint32_t counting_offset;
  uint32_t traced;
  uint32_t code_used;
  uint32_t blocks_used;
  uint32_t full; /* 1: a table was full, and bursts ended early */
  uint32_t has_values;
  uint32_t reserved;
  struct nf_burst_phase phases[NF_BURST_PHASES];
  struct nf_burst_instruction code[NF_BURST_CODE];
  struct nf_burst_block blocks[NF_BURST_CODE_BLOCKS];
  struct nf_burst bursts[NF_BURST_TRACED * NF_BURSTS_PER_PHASE];
};

#endif
