/* The run folder's file `control`: phases and their times, shared by `nearfar profile`, the program
 * and its children, and processes that mark from outside. All little-endian, sizes in bytes.
 *
 * The verb creates it (nf_control_create) and writes `target_pid`; the libraries in the program map
 * it if NEARFAR_RUN_DIR names its folder. nearfar/program/control.py has the same layout.
 *
 * Each process that marks has a *slot*; slot 0 is the program's. The end of an interval adds the
 * CPU and wall time since the slot's last mark to the current phase, so the phases' times add up to
 * the total time until the last mark.
 */
#ifndef NEARFAR_PROFILE_CONTROL_H
#define NEARFAR_PROFILE_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NF_CONTROL_MAGIC "NFCTRL\0"
#define NF_CONTROL_VERSION 1u
/* A phase has 8 bits in the counters' keys; the last phase collects all further ones. */
#define NF_PHASES 256
#define NF_SLOTS 64
#define NF_PHASE_NAME 64

/* Phase before --after has passed: counted separately and dropped. */
#define NF_PHASE_BEFORE 0u
/* The unmarked remainder, called "-". */
#define NF_PHASE_REST 1u
#define NF_PHASE_OVERFLOW (NF_PHASES - 1u)

struct nf_phase {
  char name[NF_PHASE_NAME]; /* zero-terminated; longer names are cut */
  uint64_t cpu_ns;          /* of all threads of the marking process */
  uint64_t wall_ns;
  uint64_t entries; /* number of times it began */
  double operations;
};

struct nf_slot {
  int32_t pid; /* process of the slot; 0: free */
  uint32_t phase;
  uint64_t last_cpu_ns; /* CPU time of process `pid` at its last mark */
  uint64_t last_wall_ns;
};

struct nf_control {
  char magic[8];
  uint32_t version;
  uint32_t counting; /* 0 until --after has passed */
  uint32_t lock;
  uint32_t phase_count;
  uint32_t lost_marks;     /* marks by processes without a slot (beyond NF_SLOTS) */
  uint32_t lost_processes; /* processes whose tables could not be created; `message` has the first
                              reason */
  int32_t target_pid;      /* 0 until the program runs */
  uint32_t split_sizes;    /* 1: sites are split by the size of their blocks */
  uint64_t start_wall_ns;  /* CLOCK_MONOTONIC when the program was started */
  uint64_t memory_bytes;   /* size of the tables of one process */
  uint64_t cache_bytes;    /* the last-level cache to simulate */
  uint32_t cache_ways;
  uint32_t live_interval_us; /* initial time between samples of live bytes */
  char message[256];
  struct nf_slot slots[NF_SLOTS];
  struct nf_phase phases[NF_PHASES];
};

#pragma GCC visibility push(default)
/* These return null or nonzero on failure, with errno set. */
struct nf_control* nf_control_create(const char* path);
struct nf_control* nf_control_open(const char* path);
void nf_control_close(struct nf_control* control);

/* Sets the program's `pid` and starts its clock. */
void nf_control_start(struct nf_control* control, int32_t pid);
/* Starts counting accesses and times; earlier ones belong to NF_PHASE_BEFORE. */
void nf_control_count(struct nf_control* control);

/* Ends the current phase of process `pid` and begins `name`; `pid` 0 is the target. */
int nf_control_begin(struct nf_control* control, int32_t pid, const char* name);
/* Ends `name`, adds `operations`, and begins the rest. If another phase is current, only the
 * operations are added. */
int nf_control_end(struct nf_control* control, int32_t pid, const char* name, double operations);

/* Returns the slot of `pid`, claiming one if `claim`; slot 0 if there is none. */
struct nf_slot* nf_control_slot(struct nf_control* control, int32_t pid, int claim);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
