// A log of records in a mapped pool: append, truncate, recover.
//
//   line 0   first[2]: sequence number of the first record; the lowest bit of tail selects the
//   valid one line 1   tail: bytes of valid records (Commit::tail) page 1   records: {sequence,
//   words, checksum, 0}, then the words
//
// Commit::tail: makes the record durable, then the 8 bytes of `tail` that validate it: two fences.
// Commit::checksum: one fence; a record is valid if it has the next sequence number and its
// checksum is correct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/pool.hpp"

#ifdef NEARFAR_HAVE_PMEM

namespace nearfar::bench {

enum class Commit { tail, checksum };

class RecordLog {
 public:
  // Uses `capacity` from `begin` on, first page included.
  RecordLog(RawPool& pool, std::byte* begin, Bytes capacity, Commit commit) noexcept;

  // Finds the valid records; none in a new, zeroed pool.
  void recover() noexcept;

  // Returns once the record survives a power cut; false if it does not fit.
  bool append(std::span<const std::uint64_t> words);
  // Removes all records; sequence numbers continue.
  void truncate();

  // Calls `visit(sequence, words)` for every valid record.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::uint64_t sequence = first();
    for (std::uint64_t at = 0; at < used_;) {
      const Record& record = at_offset(at);
      visit(sequence++, std::span<const std::uint64_t>(record.content, record.words));
      at += bytes_of(record.words);
    }
  }
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_; }
  [[nodiscard]] std::uint64_t first() const noexcept {
    return head_->first[head_->tail & slot_bit];
  }
  [[nodiscard]] bool empty() const noexcept { return used_ == 0; }

  static constexpr std::uint64_t bytes_of(std::uint64_t words) noexcept {
    return sizeof(Record) + words * sizeof(std::uint64_t);
  }
  static constexpr std::uint64_t overhead = 4096;  // bytes before the first record

 private:
  static constexpr std::uint64_t slot_bit = 1;
  struct Head {
    alignas(64) std::uint64_t first[2];
    alignas(64) std::uint64_t tail;
  };
  struct Record {
    std::uint64_t sequence;
    std::uint64_t words;
    std::uint64_t checksum;
    std::uint64_t pad;
    std::uint64_t content[];  // NOLINT: as many as `words`
  };

  [[nodiscard]] Record& at_offset(std::uint64_t offset) const noexcept {
    return *reinterpret_cast<Record*>(records_ + offset);
  }
  [[nodiscard]] static std::uint64_t checksum_of(const Record& record) noexcept;

  RawPool& pool_;
  Head* head_;
  std::byte* records_;
  std::uint64_t capacity_;
  Commit commit_;
  std::vector<std::uint64_t> record_buffer_;  // the next record, so that it is copied at once
  std::uint64_t used_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace nearfar::bench

#endif
