// The file `process.PID.N` in the run folder: the counters of a process, in tables of fixed size.
//
// It is mapped shared, so counts survive _exit, abort and SIGKILL, except those of a thread's last
// list of accesses (pending_access.h). Every table is an array that is filled from its start;
// `Table` contains its offset and its used size. nearfar/profile/run_file.py reads the same layout.
// All numbers are little-endian, sizes in bytes.
#pragma once

#include <cstdint>

namespace nearfar::profile {

inline constexpr char process_magic[8] = "NFPROC";
inline constexpr std::uint32_t process_version = 10;

// Sites 0 to 3 are not allocation sites: memory not looked up yet, allocation sites beyond the
// table, unknown memory, the stacks.
enum : std::uint16_t { site_none = 0, site_other = 1, site_unknown = 2, site_stack = 3 };
inline constexpr std::uint32_t first_free_site = 4;

inline constexpr unsigned max_frames = 8;
// Misses are also counted by groups of lines, chosen by hash: the spread of the groups is the
// sampling error. 256 groups give that spread within 5 %.
inline constexpr unsigned error_groups = 256;
// A thread counts them in the row of its ID, so that few threads share a row: threads that share a
// count take its cache line from one another at every miss.
inline constexpr unsigned group_rows = 64;
// Number of sites per sample of live bytes: the ones with the most bytes.
inline constexpr unsigned sites_per_sample = 128;

enum class ObjectKind : std::uint32_t { unknown, heap, mmap, file, stack, globals };

struct Table {
  std::uint64_t offset;
  std::uint32_t capacity;  // in records
  std::uint32_t used;
  std::uint64_t lost;  // records that did not fit into the table
};

// An instrumented load or store. It is copied from its module when it first touches a sampled line.
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
  std::uint32_t fields;  // offset into `strings`: touched fields, see abi.h
  std::uint32_t reserved;
};

// An allocation site and its bytes. Bytes in blocks below 8 KiB are estimated from blocks that
// touch sampled lines; larger blocks are counted individually.
struct SiteRecord {
  std::uint64_t key;
  ObjectKind kind;
  std::uint32_t depth;
  std::uint64_t frames[max_frames];  // return addresses, innermost first; named frames are
                                     // named_frame_bit and an offset into `strings`
  std::uint64_t path;                // offset into `strings` of a file or module; 0: none
  std::uint32_t size_class;          // blocks of [2^(c-1), 2^c) bytes, if requested; 0: all
  std::uint32_t tag;                 // offset into `strings` of the program's tag; 0: none
  std::uint64_t allocations;
  std::uint64_t allocated_bytes;
  std::int64_t live_bytes;
  std::int64_t peak_bytes;
  std::int64_t bytes_at_peak;  // bytes when the process's total was at its peak, within 1 %
};

// Counts of an instruction on a site's memory in a phase.
//  key: phase in bits 48-55, site in bits 32-47, instruction ID + 1 in bits 0-31.
//  Instruction part 0: lines of that site written back, in read_misses.
//  Misses are *in sequence* if the sampled line before or after was among the last to miss: a
//  prefetcher follows them, whatever the code does (a merge, a list laid out in order).
inline constexpr unsigned recent_lines = 3;  // distinguished streams of an instruction
struct CounterRecord {
  std::uint64_t key;
  std::uint64_t accesses;
  std::uint64_t read_misses;
  std::uint64_t write_misses;
  std::uint64_t in_sequence;  // read and write misses that are in sequence
  std::uint64_t
      recent[recent_lines];  // ordinals of the sampled lines that missed last; most recent first
};

// Reuse distances of a site's lines in a phase, from which the misses of any cache follow.
//  key: phase in bits 48-55, site in bits 32-47, 1 for stores in bit 0. Counts are weighted
//  touches. Bucket i: less than curve_bucket_bytes(i) of memory touched in between, and not less
//  than the previous bucket; the last bucket: more, or first touches.
inline constexpr unsigned curve_buckets = 64;
struct CurveRecord {
  std::uint64_t key;
  std::uint64_t beyond;               // touches beyond the near stack
  std::uint64_t near[curve_buckets];  // touches within the near stack
  std::uint64_t
      far[curve_buckets];  // all touches of the far stack; only those beyond the near one count
};
// Buckets: the first is below 4 KiB; then two per octave, [1, 1.5) and [1.5, 2) times a power of
// two, up to 8 TiB.
constexpr unsigned curve_bucket(std::uint64_t bytes) {
  if (bytes < 4096) return 0;
  const unsigned octave = 63 - static_cast<unsigned>(__builtin_clzll(bytes));
  const unsigned half = bytes >> (octave - 1) & 1;
  const unsigned bucket = 1 + (octave - 12) * 2 + half;
  return bucket < curve_buckets - 1 ? bucket : curve_buckets - 2;
}

// Touches of a site's whole pages (abi.h) in a phase; a page belongs to the site of its sampled
// line.
//  key: phase in bits 48-55, site in bits 32-47. Counts are weighted touches of whole pages; a
//  touch that follows one of the same page by the same thread is not counted. Bucket i of `reuses`
//  and `written`: less than page_bucket_edge(i) pages touched in between; the last bucket: more.
//  `written` sums to the evictions of dirty pages by a memory of any size: a reuse adds 1 at its
//  distance and takes 1 away at the longest distance since the page's last store. Bucket i of
//  `times`: half-octaves of the touches of whole pages in between.
inline constexpr unsigned page_buckets = 290;
inline constexpr unsigned time_buckets = 64;
struct PageRecord {
  std::uint64_t key;
  std::uint64_t first;      // first touches, in pages
  std::uint64_t touches;    // touches without weights, including first ones
  std::uint64_t looked_at;  // pages whose content was compressed
  std::uint64_t compressed_bytes;
  std::uint64_t compression_work;  // PageContent::work
  std::uint32_t reuses[page_buckets];
  std::int32_t written[page_buckets];
  std::uint32_t times[time_buckets];
};
// Buckets: the first is below 64 pages; then 16 per octave.
constexpr unsigned page_bucket(std::uint64_t pages) {
  if (pages < 64) return 0;
  const unsigned octave = 63 - static_cast<unsigned>(__builtin_clzll(pages));
  const unsigned bucket = 1 + (octave - 6) * 16 + static_cast<unsigned>(pages >> (octave - 4) & 15);
  return bucket < page_buckets - 1 ? bucket : page_buckets - 1;
}
constexpr unsigned time_bucket(std::uint64_t touches) {
  if (touches < 2) return 0;
  const unsigned octave = 63 - static_cast<unsigned>(__builtin_clzll(touches));
  const unsigned bucket = octave * 2 - 1 + static_cast<unsigned>(touches >> (octave - 1) & 1);
  return bucket < time_buckets ? bucket : time_buckets - 1;
}

// Misses and write-backs of a site's large memory in a phase, by position (base/positions.hpp).
//  key: phase in bits 48-55, site in bits 32-47. Range i: positions from i << bytes_log2 on.
//  The two halves are of different lines, chosen by hash: two independent samples.
inline constexpr unsigned ranges_per_site = 128;
inline constexpr unsigned min_range_log2 = 16;
enum class RangeKind : unsigned { read_miss, write_miss, write_back };
inline constexpr unsigned range_kinds = 3;
struct RangeRecord {
  std::uint64_t key;
  std::uint64_t bytes_log2;
  std::uint32_t counts[2][range_kinds][ranges_per_site];
};

// A large block of a site gets or frees its positions; events are in the order of the run. Several
// sites may be one object, whose positions follow from these events.
struct PositionRecord {
  std::uint32_t site;
  std::uint32_t freed;
  std::uint64_t position;
  std::uint64_t bytes;
};

// Counts other than accesses, by phase and site.
//  key: phase in bits 48-55, site in bits 32-47.
//  The upper half counts every event. Owners of small heap blocks are known for sampled lines only:
//  events there go to site_none, and those on sampled lines also to their site in `sampled_*`, in
//  proportion to which the former are divided. The lower half contains estimates for the whole run
//  (native/profile/runtime/core_caches.hpp).
struct EventRecord {
  std::uint64_t key;
  std::uint64_t flushes;  // lines
  std::uint64_t fences;   // fences for which the last flushed line belonged to this site
  std::uint64_t nt_bytes;
  std::uint64_t sampled_flushes;
  std::uint64_t sampled_nt_bytes;
  std::uint64_t log_bytes;  // bytes of which transactions took snapshots
  std::uint64_t syncs;      // calls of msync
  std::uint64_t sync_bytes;
  std::uint64_t small_page_misses;  // misses of the core's last-level TLB with 4 KiB pages
  std::uint64_t large_page_misses;  // the same with 2 MiB pages
  std::uint64_t private_misses;     // misses of the core's private cache
  std::uint64_t transfers;          // lines last written by another thread that are still cached
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
  std::uint32_t forked;    // 1: it has its parent's allocations
  std::uint32_t threads;   // most that were alive at once
  std::uint64_t compiler;  // offset into `strings`
  std::uint64_t cache_sets;
  std::uint32_t cache_ways;
  std::uint32_t mixed_rates;    // modules instrumented at another rate, not counted
  std::uint32_t wrong_modules;  // modules with another interface version, which are not counted
  std::uint32_t instrumented_modules;
  std::uint64_t dropped;       // accesses by signal handlers inside the runtime
  std::uint64_t lost_regions;  // mappings beyond the table
  std::uint64_t
      unusual_blocks;  // blocks that were not reported in the short way (usual_blocks.hpp)
  std::int64_t live_bytes;
  std::int64_t peak_bytes;
  std::uint64_t private_bytes;       // a core's private cache, simulated per thread; 0: none
  std::uint32_t translations;        // entries of its last-level TLB; 0: none
  std::uint32_t translations_known;  // 1: reported by the processor; 0: a typical size
  std::uint32_t counts_flushes;      // 1: flushes, fences and non-temporal stores are counted
  std::uint32_t threads_alive;
  Table instructions;
  Table sites;
  Table counters;
  Table modules;
  Table live;
  Table curves;
  Table pages;
  Table events;
  Table ranges;
  Table positions;
  Table strings;  // zero-terminated texts, the first one empty
  std::uint64_t group_misses[group_rows][error_groups];
};

// Maps a new file for this process; it is zero except for the tables' positions. `memory_bytes` is
// the size of all tables. Returns null on failure, with the reason in `message` if there is one.
ProcessHeader* create_process_file(std::uint64_t memory_bytes, char* message,
                                   std::uint64_t message_size);
// Size of the mapping.
std::uint64_t process_file_size(std::uint64_t memory_bytes);

template <typename T>
T* records(ProcessHeader& header, const Table& table) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(&header) + table.offset);
}

}  // namespace nearfar::profile
