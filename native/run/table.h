/* Tables and messages between `nearfar run` and the preloaded library. Little-endian, sizes in
 * bytes; nearfar/run/layout.py has the same definitions.
 *
 *   memory   where pages are: a node, a file, a DAX device; locked, or paged by the kernel
 *   target   where an object goes: one memory, or several by weights or by shares; the first target
 *            is near memory. Each target has its own addresses, so the address of a block shows
 *            its target.
 *   object   a placement of the plan, by its index plus one
 *
 * The verb writes the table into a file that the processes share. Each process has its state in its
 * own memory, where the verb reads it (process_vm_readv).
 */
#ifndef NEARFAR_RUN_TABLE_H
#define NEARFAR_RUN_TABLE_H

#include <stdint.h>

#define NF_RUN_MAGIC "NFRUN\0\0"
#define NF_RUN_VERSION 10u
/* Environment variable with the run folder; without it the library does nothing. */
#define NF_RUN_VARIABLE "NEARFAR_RUN_PLACES"

#define NF_RUN_MEMORIES 16
/* Near memory, the plan's combinations, and one target for each object that moves between phases.
 */
#define NF_RUN_TARGETS 48
#define NF_RUN_PARTS 8
/* Ranges of all objects together, and mapped files that the plan places. */
#define NF_RUN_RANGES 2048
#define NF_RUN_FILES 16
#define NF_RUN_EXTENTS 16384
#define NF_RUN_MAPPED 1024
/* Maximum number of simultaneous processes whose bytes are freed however they end. */
#define NF_RUN_USERS 256
/* Answers that processes share. If there is no space for more, each process asks for itself. */
#define NF_RUN_ANSWERS 16384

enum nf_run_kind {
  NF_RUN_DEFAULT = 0,
  NF_RUN_NODE = 1,
  NF_RUN_FILE = 2,
  NF_RUN_DEVICE = 3,
  NF_RUN_LOCKED = 4, /* pages are locked from their first touch (mlock2) */
  NF_RUN_PAGED = 5,  /* the kernel chooses which pages stay */
};
enum nf_run_style {
  NF_RUN_SINGLE = 0,
  NF_RUN_INTERLEAVE = 1,
  NF_RUN_IN_PARTS = 2,
  NF_RUN_IN_RANGES = 3, /* large blocks by position; smaller ones are in memory[0] */
};

struct nf_run_memory {
  uint32_t kind;
  int32_t node;        /* node, for NF_RUN_NODE */
  uint64_t near_nodes; /* for near memory that is no NF_RUN_NODE: a bit per node; 0: not known */
  uint32_t near_mode;  /* mode of the policy on near_nodes; 0: preferred */
  uint32_t unused;
  uint64_t capacity_bytes; /* 0: no limit */
  uint64_t used_bytes;     /* bytes used by all processes */
  uint64_t size_bytes;     /* for NF_RUN_DEVICE */
  char path[232];          /* folder for NF_RUN_FILE, device for NF_RUN_DEVICE */
};

struct nf_run_target {
  uint32_t style;
  uint32_t count; /* number of parts */
  uint32_t memory[NF_RUN_PARTS];
  uint32_t weight[NF_RUN_PARTS];
  uint32_t first_range; /* for NF_RUN_IN_RANGES */
  uint32_t range_count;
};

/* A range of positions of an object's large blocks: from the previous range's end up to `end`. */
struct nf_run_range {
  uint64_t end;
  uint32_t memory;
  /* 1: the pages have another policy than ranges with 0, with the same effect, because the kernel
   * counts adjacent pages with different policies separately. */
  uint32_t apart;
};

struct nf_run_file {
  char name[252]; /* name without its folder */
  uint16_t object;
  uint16_t target;
};

/* Bytes that one process uses in each memory. */
struct nf_run_user {
  int32_t pid; /* 0: free; negative: another process is clearing it */
  uint32_t unused;
  uint64_t used_bytes[NF_RUN_MEMORIES];
};

/* An answer of the verb for all processes, because children seldom have a stack that no other
 * process had. Or a step on the way to an answer: the distance from the end of the frame to that of
 * the next. */
struct nf_run_shared {
  uint64_t key; /* key of the deciding frames, relative to their files; 0: free, 1: being written */
  uint16_t object;
  uint16_t target; /* NF_RUN_STEP: a step on the way to an answer */
  uint32_t alike;  /* with NF_RUN_STEP: the distance */
};

struct nf_run_table {
  char magic[8];
  uint32_t version;
  uint32_t memory_count;
  uint32_t target_count;
  uint32_t split_sizes; /* 1: objects also differ by block size */
  uint32_t huge_pages; /* 1: requested by madvise; 2: refused by madvise; 0: the system's setting */
  uint32_t heap_target;   /* far target with the most objects; it has its own heap; 0: none */
  uint32_t adapts;        /* 1: pages move, so the verb must be told about each child immediately */
  uint32_t process_count; /* processes that have run under the plan so far */
  uint32_t fullest_pages; /* maximum number of sampled pages of an ended process */
  struct nf_run_memory memories[NF_RUN_MEMORIES];
  struct nf_run_target targets[NF_RUN_TARGETS];
  struct nf_run_user users[NF_RUN_USERS];
  struct nf_run_shared answers[NF_RUN_ANSWERS];
  struct nf_run_range ranges[NF_RUN_RANGES];
  uint32_t file_count;
  uint32_t answers_used; /* number of used rows of answers */
  struct nf_run_file files[NF_RUN_FILES];
};

/* One page in each group of 2^NF_RUN_PAGE_BITS is sampled. The group's number times the factor is a
 * hash: its first bits are the page's number in the group, and its next nine bits choose eight
 * bytes of the page. */
#define NF_RUN_PAGE_FACTOR 0x9E3779B97F4A7C15ull
#define NF_RUN_PAGE_BITS 3
#define NF_RUN_NO_OBJECT 0xFFFFu
#define NF_RUN_STEP 0xFFFFu
/* Bit of a word of the shadow: the word represents this many allocated bytes, not the page. Others
 * of the block's sampled pages may have words too, which represent their groups. A heap
 * of 100 MB has 200 such blocks, each alone on a page: less than 1 % of memory. */
#define NF_RUN_CHOSEN 0x80000000u
#define NF_RUN_CHOSEN_BYTES (512u << 10)

struct nf_run_extent {
  uint64_t begin;
  uint64_t bytes;
  uint32_t target;
  uint32_t memory;   /* actual memory, which differs if the target's was full */
  uint64_t position; /* position of a block in ranges; UINT64_MAX: none */
};

/* A recognised mapping of the program. */
struct nf_run_mapped {
  uint64_t begin; /* 0: free */
  uint64_t bytes;
  uint32_t target;
  uint32_t object;
  uint64_t position; /* position of a mapping in ranges; UINT64_MAX: none */
};

struct nf_run_state {
  char magic[8];
  uint64_t first_address; /* start of near memory, page 0 of the shadow */
  uint64_t shadow; /* address of one uint32_t per page: object in the low half, block start above */
  uint64_t sampled_pages; /* number of sampled pages that contain a block now */
  uint64_t heap_bytes;    /* bytes from the kernel for blocks, including near memory */
  uint64_t stacks_asked;
  uint64_t stacks_unanswered;
  uint64_t foreign_frees;
  uint64_t bind_failures;
  uint64_t advice_failures; /* of madvise for huge_pages */
  uint64_t lock_failures;   /* of mlock2 */
  uint32_t bind_errno;      /* of the first failure */
  uint32_t advice_errno;    /* of the first failure */
  uint32_t lock_errno;      /* of the first failure */
  uint32_t extents_lost;    /* number of extents that did not fit into the table */
  uint32_t extent_count;
  uint64_t fallback_bytes[NF_RUN_TARGETS];
  uint32_t mapped_count;
  uint32_t files_refused; /* bit i: files[i] was mapped on a file system where no policy works */
  uint32_t unused;
  struct nf_run_mapped mapped[NF_RUN_MAPPED];
  struct nf_run_extent extents[NF_RUN_EXTENTS];
};

/* Messages on the socket `socket` in the run folder; each is answered by an nf_run_answer. */
enum nf_run_message {
  NF_RUN_HELLO = 1,
  NF_RUN_STACK = 2,
  NF_RUN_GROWN = 3,
  NF_RUN_BYE = 4,
  NF_RUN_CANNOT = 5, /* no addresses for the shadow: the process runs without the library */
};
#define NF_RUN_FRAMES 8

struct nf_run_ask {
  uint32_t message;
  int32_t pid;
  uint64_t state;  /* address of the nf_run_state */
  uint64_t size;   /* size of the block, for NF_RUN_STACK */
  uint32_t mapped; /* 1: mmap, 0: malloc */
  uint32_t count;  /* number of frames */
  /* Return addresses, innermost first. With the highest bit set: address of the text of a named
   * frame (native/profile/runtime/interpreter.hpp). */
  uint64_t frames[NF_RUN_FRAMES];
  char tag[64];
};

struct nf_run_answer {
  uint16_t object;
  uint16_t target;
  uint32_t depth; /* number of frames that decided; others are not needed */
  /* 1: all objects of the plan that are allocated from the first frame have this target. */
  uint32_t alike;
};

#endif
