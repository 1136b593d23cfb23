// A table of values under 64-bit keys, with a write-ahead log.
//
// A put is a record of the log, made durable, then the table is overwritten in place: lines of it
// reach the medium whenever they like, and recovery applies the log's records again, in order. When
// the log is full the changed values are flushed and the log begins anew (a checkpoint).
//
//   log     RecordLog of {key, value...}, committed by checksum: one fence a put
//   table   slots of {key + 1, value...}; open addressing, never fuller than half
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
  // `words`: of each value, 8 bytes each. `slots`: a power of two.
  KeyValue(RawPool& pool, Bytes log_bytes, std::uint64_t slots, std::uint64_t words);
  static Bytes bytes_for(Bytes log_bytes, std::uint64_t slots, std::uint64_t words) noexcept;

  // Applies what the log holds, makes that durable, empties the log. Says what is wrong, or
  // nothing.
  std::string recover();

  // A value to begin with: durable once the pool is.
  void preset(std::uint64_t key, std::span<const std::uint64_t> value) noexcept {
    apply(key, value);
  }
  // Returns once the value survives a power cut; false where the table is half full.
  bool put(std::uint64_t key, std::span<const std::uint64_t> value);
  // Flushes what was put; the log is empty then. Not needed for safety: opening is quicker.
  void close() {
    if (!log_.empty()) checkpoint();
  }
  // Null where the key is not there.
  [[nodiscard]] const std::uint64_t* get(std::uint64_t key) const noexcept;

  // `visit(key, value)` for every key.
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
  // The slot that has the key, or the free one where it would go.
  [[nodiscard]] std::uint64_t* place_of(std::uint64_t key) const noexcept;
  void apply(std::uint64_t key, std::span<const std::uint64_t> value) noexcept;
  void checkpoint();

  RawPool& pool_;
  RecordLog log_;
  std::uint64_t* table_;
  std::uint64_t slots_;
  std::uint64_t words_;
  std::uint64_t stride_;  // words of a slot: whole lines, so that no two share one
  std::uint64_t used_ = 0;
  std::vector<std::uint64_t> record_;
};

}  // namespace nearfar::bench

#endif
