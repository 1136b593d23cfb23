#ifdef NEARFAR_HAVE_PMEM

#include "bench/log/drive.hpp"

#include <nearfar/crash.h>

#include <random>
#include <vector>

#include "bench/driven_pool.hpp"
#include "bench/errors.hpp"
#include "bench/pattern.hpp"

namespace nearfar::bench {
namespace {

// Small, so that the log is full and restarts within some tens of operations.
constexpr Bytes driven_bytes{16384};
constexpr std::uint64_t max_words = 40;

Commit commit_of(std::uint64_t seed) { return seed % 2 == 0 ? Commit::tail : Commit::checksum; }

}  // namespace

std::string layout_of_log(Commit commit) {
  return commit == Commit::tail ? "nearfar-log-1 tail" : "nearfar-log-1 checksum";
}

void check_records(const RecordLog& log, std::uint64_t words) {
  log.for_each([&](std::uint64_t sequence, std::span<const std::uint64_t> content) {
    if ((words != 0 && content.size() != words) || !is_filled(content, sequence, 0)) {
      throw WrongContent("record " + std::to_string(sequence) +
                         " of the log does not contain what was appended");
    }
  });
}

void drive_log(const std::string& path, std::uint64_t operations, std::uint64_t seed) {
  RawPool pool;
  const std::string layout = layout_of_log(commit_of(seed));
  if (open_or_make(pool, path, layout, driven_bytes)) pool.seal();
  RecordLog log(pool, pool.data(), pool.bytes(), commit_of(seed));
  log.recover();
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> record;
  for (std::uint64_t i = 0; i < operations; ++i) {
    record.resize(1 + random() % max_words);
    fill(record, log.next_sequence(), 0);
    NEARFAR_CRASH_BEGIN(i);
    if (!log.append(record)) {
      log.truncate();
      (void)log.append(record);
    }
    NEARFAR_CRASH_END(i);
  }
}

void check_log(const std::string& path) {
  if (is_unfinished(path)) return;
  RawPool pool;
  Commit commit = Commit::tail;
  try {
    pool.open(path, layout_of_log(commit));
  } catch (const BadArgument&) {
    commit = Commit::checksum;
    pool.open(path, layout_of_log(commit));
  }
  RecordLog log(pool, pool.data(), pool.bytes(), commit);
  log.recover();
  check_records(log, 0);
  std::vector<std::uint64_t> record(1);
  fill(record, log.next_sequence(), 0);
  const std::uint64_t next = log.next_sequence();
  if (!log.append(record)) {
    log.truncate();
    (void)log.append(record);
  }
  log.recover();
  if (log.next_sequence() != next + 1) {
    throw WrongContent("the log is valid, but a record cannot be appended to it");
  }
  check_records(log, 0);
}

}  // namespace nearfar::bench

#endif
