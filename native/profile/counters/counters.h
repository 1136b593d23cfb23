/* Counters part of libnearfar_replay.so: perf events of a plain build, and the objects of sampled
 * addresses. nearfar/profile/sources/perf_events.py calls it. */
#ifndef NEARFAR_PROFILE_COUNTERS_COUNTERS_H
#define NEARFAR_PROFILE_COUNTERS_COUNTERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define NF_COUNTED_EVENTS 16u
#define NF_COUNTED_PHASES 256u

/* Parameters of perf_event_open(2). */
struct nf_perf_event {
  uint32_t type;
  uint32_t precise; /* 0 to 3: required precision of a sample's instruction */
  uint64_t config;
  uint64_t config1;
  uint64_t config2;
  uint64_t sample_type; /* 0: only counted */
  uint64_t period;      /* events per sample, or samples per second if `is_rate` */
  uint32_t is_rate;
  uint32_t with_kernel; /* 1: events in the kernel cannot be excluded */
};

/* Opens an event for the calling thread and its future children, on `cpu` (-1: any; sampling needs
 * one event per CPU), disabled until the next exec. Returns a descriptor, or a negative errno. */
int nf_perf_open(const struct nf_perf_event* event, int32_t cpu);

/* Makes nf_replay_run read these descriptors, and close them at its end. `instructions`: index of
 * the counter that measures work; -1: none. Returns 0 or an errno. */
int nf_perf_attach(const int32_t* counted, uint32_t counted_count, int32_t instructions,
                   const int32_t* sampled, uint32_t sampled_count,
                   const struct nf_perf_event* sampled_event);

/* Count of a phase: value, and the time in which the event was enabled and counted, ns. */
struct nf_perf_count {
  uint64_t value;
  uint64_t enabled_ns;
  uint64_t running_ns;
};
struct nf_perf_facts {
  uint64_t samples;
  uint64_t lost;
  uint64_t throttled;
  uint64_t broken;
  uint64_t of_others; /* samples of child processes, whose memory is unknown */
  uint64_t addressed; /* samples with an address of the program */
  struct nf_perf_count counts[NF_COUNTED_PHASES][NF_COUNTED_EVENTS];
};
void nf_perf_read_facts(struct nf_perf_facts* facts);

/* The decoder alone, for tests: reads the records of a ring in `bytes` and writes up to `max_count`
 * samples of 9 words each (instruction, process, thread, time, address, events, weight, data
 * source, 1 for a miss). Returns the number of samples, or -1 for unsupported fields. */
int64_t nf_perf_decode(const void* bytes, uint64_t size, uint64_t sample_type, uint64_t read_format,
                       uint64_t* words, uint64_t max_count, uint64_t tally[5]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
