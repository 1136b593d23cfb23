/* libnearfar_replay.so: creates the ring, reads it while the program runs, and writes the same file
 * `process.PID.N` in the run folder as an instrumented build does. One instance per process.
 * nearfar/profile/sources/replay.py calls it. */
#ifndef NEARFAR_PROFILE_QEMU_REPLAY_H
#define NEARFAR_PROFILE_QEMU_REPLAY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns 0 or an errno. `folder` contains a control file. Sampling ends `sample_ns` after counting
 * began (0: never). `accesses_from_start`: the program preloads nothing, so sampling begins at
 * once. `sample_instructions`: sampling ends this many instructions after the program's first mark
 * (0: never), or after its start if `sample_from_start`. */
int nf_replay_open(const char* folder, uint32_t rate_log2, uint64_t sample_ns,
                   int accesses_from_start, uint64_t sample_instructions, int sample_from_start);
/* Sets the addresses of a file that the program cannot report. */
void nf_replay_module(uint64_t begin, uint64_t end, const char* path);
/* Sets the name of memory that the program maps by system calls of its own. */
void nf_replay_own_calls(const char* name);
/* The program runs without QEMU: nf_perf_attach opens its counters. */
void nf_replay_native(void);
/* Reads until nf_replay_stop, called by another thread when the program has ended. */
void nf_replay_run(void);
void nf_replay_stop(void);
void nf_replay_close(void);

/* Returns the instructions executed so far while sampling continues; 0 once it has ended. */
uint64_t nf_replay_sampled_instructions(void);

/* Further facts that the plugin reports. */
struct nf_replay_facts {
  uint32_t attached; /* 0: the program did not preload the library */
  uint32_t forks;
  uint32_t sampled_to_the_end; /* 0: sampling ended before the program */
  uint32_t replaced;           /* 1: the program called exec and was not followed */
  uint64_t instructions[256];  /* executed instructions by phase */
  uint64_t sampled[256];       /* the part of these executed while accesses were sampled */
};
void nf_replay_read_facts(struct nf_replay_facts* facts);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
