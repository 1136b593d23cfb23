#include "bench/log/record_log.hpp"

#ifdef NEARFAR_HAVE_PMEM

#include <cstring>

#include "bench/pattern.hpp"

namespace nearfar::bench {

RecordLog::RecordLog(RawPool& pool, std::byte* begin, Bytes capacity, Commit commit) noexcept
    : pool_(pool),
      head_(reinterpret_cast<Head*>(begin)),
      records_(begin + overhead),
      capacity_(capacity.count - overhead),
      commit_(commit) {}

std::uint64_t RecordLog::checksum_of(const Record& record) noexcept {
  return checksum({record.content, record.words}, record.sequence * 2 + 1);
}

void RecordLog::recover() noexcept {
  next_ = first();
  used_ = 0;
  if (commit_ == Commit::tail) {
    const std::uint64_t tail = head_->tail & ~slot_bit;
    while (used_ < tail && tail <= capacity_) {
      const Record& record = at_offset(used_);
      if (record.sequence != next_ || record.words > (capacity_ - used_) / sizeof(std::uint64_t))
        return;
      used_ += bytes_of(record.words);
      ++next_;
    }
    return;
  }
  while (used_ + sizeof(Record) <= capacity_) {
    const Record& record = at_offset(used_);
    // A new pool may contain sequence number 0, but not its checksum.
    if (record.sequence != next_ || record.words > (capacity_ - used_ - sizeof(Record)) / 8 ||
        record.checksum != checksum_of(record)) {
      return;
    }
    used_ += bytes_of(record.words);
    ++next_;
  }
}

bool RecordLog::append(std::span<const std::uint64_t> words) {
  const std::uint64_t bytes = bytes_of(words.size());
  if (bytes > capacity_ - used_) return false;
  Record head{next_, words.size(), 0, 0};
  if (commit_ == Commit::checksum) {
    head.checksum = checksum(words, head.sequence * 2 + 1);
  }
  record_buffer_.resize(bytes / sizeof(std::uint64_t));
  std::memcpy(record_buffer_.data(), &head, sizeof head);
  std::memcpy(record_buffer_.data() + sizeof head / sizeof(std::uint64_t), words.data(),
              words.size_bytes());
  pool_.copy(&at_offset(used_), record_buffer_.data(), bytes);
  used_ += bytes;
  ++next_;
  if (commit_ == Commit::tail) {
    head_->tail = used_ | (head_->tail & slot_bit);
    pool_.persist(&head_->tail, sizeof head_->tail);
  }
  return true;
}

void RecordLog::truncate() {
  // Both values change atomically: with a tail, by the 8 bytes that select `first` and set the
  // length to 0; without one, by `first`, which is larger than any old record's number.
  const std::uint64_t slot = head_->tail & slot_bit;
  const std::uint64_t next_slot = commit_ == Commit::tail ? slot ^ slot_bit : slot;
  head_->first[next_slot] = next_;
  pool_.persist(&head_->first[next_slot], sizeof head_->first[next_slot]);
  if (commit_ == Commit::tail) {
    head_->tail = next_slot;
    pool_.persist(&head_->tail, sizeof head_->tail);
  }
  used_ = 0;
}

}  // namespace nearfar::bench

#endif
