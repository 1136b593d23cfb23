// A table of values with 64-bit keys and a write-ahead log.
//
// A put appends a durable record to the log, then overwrites the table in place. The table's lines
// reach the medium at any time, and recovery reapplies the log's records in order. When the log is
// full, the changed values are flushed and the log restarts (a checkpoint).
//
//   log     RecordLog of {key, value...}, committed by checksum: one fence per put
//   table   slots of {key + 1, value...}; open addressing, at most half full
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/log/record_log.hpp"

#ifdef NEARFAR_HAVE_PMEM

namespace nearfar::bench {

class KeyValue {
 public:
  // `words`: length of each value in 8 bytes. `slots`: a power of two.
  KeyValue(RawPool& pool, Bytes log_bytes, std::uint64_t slots, std::uint64_t words);
  static Bytes bytes_for(Bytes log_bytes, std::uint64_t slots, std::uint64_t words) noexcept;

  // Applies the log's records, makes them durable, empties the log. Returns an error, or an empty
  // string.
  std::string recover();

  // Sets an initial value, durable once the pool is.
  void preset(std::uint64_t key, std::span<const std::uint64_t> value) noexcept {
    apply(key, value);
  }
  // Returns once the value survives a power cut; false if the table is half full.
  bool put(std::uint64_t key, std::span<const std::uint64_t> value);
  // Flushes all values and empties the log. Optional: it makes opening faster.
  void close() {
    if (!log_.empty()) checkpoint();
  }
  // Returns null if there is no such key.
  [[nodiscard]] const std::uint64_t* get(std::uint64_t key) const noexcept;

  // Calls `visit(key, value)` for every key.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t i = 0; i < slots_; ++i) {
      const std::uint64_t* at = slot(i);
      if (at[0] != 0) visit(at[0] - 1, std::span(at + 1, words_));
    }
  }

 private:
  [[nodiscard]] std::uint64_t* slot(std::uint64_t number) const noexcept {
    return table_ + number * stride_;
  }
  // Returns the key's slot, or the free slot for it.
  [[nodiscard]] std::uint64_t* slot_of(std::uint64_t key) const noexcept;
  void apply(std::uint64_t key, std::span<const std::uint64_t> value) noexcept;
  void checkpoint();

  RawPool& pool_;
  RecordLog log_;
  std::uint64_t* table_;
  std::uint64_t slots_;
  std::uint64_t words_;
  std::uint64_t stride_;  // words per slot: whole lines, so that slots share none
  std::uint64_t used_ = 0;
  std::vector<std::uint64_t> record_;
};

}  // namespace nearfar::bench

#endif
