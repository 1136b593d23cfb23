// The file `process.PID.N` in the run folder: the counters of one process, in tables of fixed size.
//
// Mapped shared, so that what was counted survives _exit, abort and SIGKILL. Every table is an
// array that fills from its start; `Table` says where it is and how much of it is used.
// nearfar/profile/run_file.py reads the same layout. All little-endian; sizes in bytes.
#pragma once

#include <cstdint>

namespace nearfar::profile {

inline constexpr char process_magic[8] = "NFPROC";
inline constexpr std::uint32_t process_version = 5;

// Sites 0 to 3 are not allocation sites: memory not yet looked at, allocation sites beyond the
// table, memory of which nothing is known, the stacks.
enum : std::uint16_t { site_none = 0, site_other = 1, site_unknown = 2, site_stack = 3 };
inline constexpr std::uint32_t first_free_site = 4;

inline constexpr unsigned max_frames = 8;
// Misses are also counted by groups of lines, chosen by hash: the groups' spread is the error that
// sampling lines implies. 256 groups give that spread within 5 %.
inline constexpr unsigned error_groups = 256;
// Sites kept in one sample of live bytes; those with the most bytes.
inline constexpr unsigned sites_per_sample = 128;

enum class ObjectKind : std::uint32_t { unknown, heap, mmap, file, stack, globals };

struct Table {
  std::uint64_t offset;
  std::uint32_t capacity;  // in records
  std::uint32_t used;
  std::uint64_t lost;  // records that did not fit
};

// One instrumented load or store, copied from its module when it first touches a sampled line.
struct InstructionRecord {
  std::uint64_t key;       // instruction id + 1
  std::uint32_t function;  // offsets into `strings`
  std::uint32_t file;
  std::uint32_t line;
  std::uint32_t column;
  std::uint16_t bytes;
  std::uint8_t operation;     // enum nf_operation
  std::uint8_t access_class;  // enum nf_class
  std::uint32_t tests_per_line;
};

// Where memory was allocated, and how much of it. Blocks below 8 KiB are estimated from those that
// touch sampled lines, larger ones are counted one by one.
struct SiteRecord {
  std::uint64_t key;
  ObjectKind kind;
  std::uint32_t depth;
  std::uint64_t frames[max_frames];  // return addresses, innermost first
  std::uint64_t path;                // offset into `strings` of a file or module; 0: none
  std::uint32_t size_class;          // blocks of [2^(c-1), 2^c) bytes, where asked for; 0: all
  std::uint32_t tag;                 // offset into `strings` of the program's own tag; 0: none
  std::uint64_t allocations;
  std::uint64_t allocated_bytes;
  std::int64_t live_bytes;
  std::int64_t peak_bytes;
  std::int64_t bytes_at_peak;  // when the process's total was greatest, within 1 %
};

// Counts of one instruction on one site's memory in one phase.
// key: phase in bits 48-55, site in bits 32-47, instruction id + 1 in bits 0-31.
// Instruction part 0: lines of that site written back, in read_misses.
// Misses are *in sequence* if the sampled line before or after was among the last to miss: a
// prefetcher follows them, whatever the code does (a merge, a list laid out in order).
inline constexpr unsigned recent_lines = 3;  // streams of one instruction that are distinguished
struct CounterRecord {
  std::uint64_t key;
  std::uint64_t accesses;
  std::uint64_t read_misses;
  std::uint64_t write_misses;
  std::uint64_t in_sequence;  // of both kinds of misses
  std::uint64_t
      recent[recent_lines];  // ordinals of sampled lines that missed last; most recent first
};

// Reuse distances of one site's lines in one phase, from which misses of any cache follow.
// key: phase in bits 48-55, site in bits 32-47, 1 for stores in bit 0. Counts are of touches, times
// what each stands for. Bucket i: less than curve_bucket_bytes(i) of memory touched in between,
// and not less than the bucket before; the last: more, or never touched before.
inline constexpr unsigned curve_buckets = 64;
struct CurveRecord {
  std::uint64_t key;
  std::uint64_t beyond;               // touches that the near stack does not reach
  std::uint64_t near[curve_buckets];  // those it does
  std::uint64_t far[curve_buckets];   // of the far stack, all; only those beyond matter
};
// Below 4 KiB; then two an octave, [1, 1.5) and [1.5, 2) times a power of two, up to 8 TiB.
constexpr unsigned curve_bucket(std::uint64_t bytes) {
  if (bytes < 4096) return 0;
  const unsigned octave = 63 - static_cast<unsigned>(__builtin_clzll(bytes));
  const unsigned half = bytes >> (octave - 1) & 1;
  const unsigned bucket = 1 + (octave - 12) * 2 + half;
  return bucket < curve_buckets - 1 ? bucket : curve_buckets - 2;
}

// Counts other than accesses, by phase and site.
// key: phase in bits 48-55, site in bits 32-47.
// The upper half counts every event. Owners of small heap blocks are known for sampled lines only:
// events there go to site_none, and those on sampled lines also to their site in `sampled_*`, in
// whose proportion the first are divided.
// The lower half are estimates for the whole run (native/profile/runtime/core_caches.hpp).
struct EventRecord {
  std::uint64_t key;
  std::uint64_t flushes;  // lines
  std::uint64_t fences;   // that waited for lines of this site, the last of those flushed
  std::uint64_t nt_bytes;
  std::uint64_t sampled_flushes;
  std::uint64_t sampled_nt_bytes;
  std::uint64_t log_bytes;  // snapshotted by transactions
  std::uint64_t syncs;      // calls of msync
  std::uint64_t sync_bytes;
  std::uint64_t small_page_misses;  // of the core's last-level TLB, pages of 4 KiB
  std::uint64_t large_page_misses;  // the same with pages of 2 MiB
  std::uint64_t private_misses;     // of the core's private cache
  std::uint64_t transfers;          // lines another thread wrote last, still in a cache
  std::uint64_t reserved[3];
};

struct ModuleRecord {
  std::uint64_t base;  // load bias: address minus virtual address in the file
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t path;  // offset into `strings`
};

struct LiveRecord {
  std::uint64_t time_ns;  // since the program started
  std::uint32_t phase;
  std::uint32_t count;
  std::int64_t total_bytes;
  struct {
    std::uint32_t site;
    std::uint32_t reserved;
    std::int64_t bytes;
  } sites[sites_per_sample];
};

struct ProcessHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t rate_log2;
  std::int32_t pid;
  std::int32_t parent_pid;
  std::uint32_t forked;  // 1: continues its parent's allocations
  std::uint32_t threads;
  std::uint64_t compiler;  // offset into `strings`
  std::uint64_t cache_sets;
  std::uint32_t cache_ways;
  std::uint32_t mixed_rates;    // modules instrumented at another rate: not counted
  std::uint32_t wrong_modules;  // modules of another interface version: not counted
  std::uint32_t instrumented_modules;
  std::uint64_t dropped;       // accesses made by signal handlers inside the run time
  std::uint64_t lost_regions;  // mappings beyond the table
  std::int64_t live_bytes;
  std::int64_t peak_bytes;
  std::uint64_t private_bytes;       // a core's own cache, simulated per thread; 0: none was
  std::uint32_t translations;        // entries of its last translation cache; 0: none was
  std::uint32_t translations_known;  // 1: the processor says so, 0: it does not, a usual size
  std::uint32_t counts_flushes;      // 1: flushes, fences and streaming stores are counted
  std::uint32_t reserved;
  Table instructions;
  Table sites;
  Table counters;
  Table modules;
  Table live;
  Table curves;
  Table events;
  Table strings;  // zero-terminated, the first one empty
  std::uint64_t group_misses[error_groups];
};

// Maps a new file for this process, all zero but for the tables' places. `memory_bytes` is the
// room for all tables. Null on failure, with the reason in `message` if there is one.
ProcessHeader* create_process_file(std::uint64_t memory_bytes, char* message,
                                   std::uint64_t message_size);
// Bytes that were mapped.
std::uint64_t process_file_size(std::uint64_t memory_bytes);

template <typename T>
T* records(ProcessHeader& header, const Table& table) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(&header) + table.offset);
}

}  // namespace nearfar::profile
