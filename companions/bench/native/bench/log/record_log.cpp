#include "bench/log/record_log.hpp"

#ifdef NEARFAR_HAVE_PMEM

#include <cstring>

#include "bench/pattern.hpp"

namespace nearfar::bench {

RecordLog::RecordLog(RawPool& pool, std::byte* begin, Bytes room, Commit commit) noexcept
    : pool_(pool),
      head_(reinterpret_cast<Head*>(begin)),
      records_(begin + overhead),
      room_(room.count - overhead),
      commit_(commit) {}

std::uint64_t RecordLog::checksum_of(const Record& record) noexcept {
  return checksum({record.content, record.words}, record.sequence * 2 + 1);
}

void RecordLog::recover() noexcept {
  next_ = first();
  used_ = 0;
  if (commit_ == Commit::tail) {
    const std::uint64_t tail = head_->tail & ~slot_bit;
    while (used_ < tail && tail <= room_) {
      const Record& record = at_offset(used_);
      if (record.sequence != next_ || record.words > (room_ - used_) / sizeof(std::uint64_t))
        return;
      used_ += bytes_of(record.words);
      ++next_;
    }
    return;
  }
  while (used_ + sizeof(Record) <= room_) {
    const Record& record = at_offset(used_);
    // A sequence number of 0 may be what a new pool holds: then its checksum is not.
    if (record.sequence != next_ || record.words > (room_ - used_ - sizeof(Record)) / 8 ||
        record.checksum != checksum_of(record)) {
      return;
    }
    used_ += bytes_of(record.words);
    ++next_;
  }
}

bool RecordLog::append(std::span<const std::uint64_t> words) {
  const std::uint64_t bytes = bytes_of(words.size());
  if (bytes > room_ - used_) return false;
  Record head{next_, words.size(), 0, 0};
  if (commit_ == Commit::checksum) {
    head.checksum = checksum(words, head.sequence * 2 + 1);
  }
  whole_.resize(bytes / sizeof(std::uint64_t));
  std::memcpy(whole_.data(), &head, sizeof head);
  std::memcpy(whole_.data() + sizeof head / sizeof(std::uint64_t), words.data(),
              words.size_bytes());
  pool_.copy(&at_offset(used_), whole_.data(), bytes);
  used_ += bytes;
  ++next_;
  if (commit_ == Commit::tail) {
    head_->tail = used_ | (head_->tail & slot_bit);
    pool_.persist(&head_->tail, sizeof head_->tail);
  }
  return true;
}

void RecordLog::truncate() {
  // Both change at once: with a tail by the 8 bytes that say which `first` counts and that nothing
  // is there; without one by `first`, which no old record's number can reach.
  const std::uint64_t slot = head_->tail & slot_bit;
  const std::uint64_t other = commit_ == Commit::tail ? slot ^ slot_bit : slot;
  head_->first[other] = next_;
  pool_.persist(&head_->first[other], sizeof head_->first[other]);
  if (commit_ == Commit::tail) {
    head_->tail = other;
    pool_.persist(&head_->tail, sizeof head_->tail);
  }
  used_ = 0;
}

}  // namespace nearfar::bench

#endif
