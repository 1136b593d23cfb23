#ifdef NEARFAR_HAVE_PMEM

#include "bench/store/key_value.hpp"

#include <algorithm>
#include <bit>

#include "bench/pattern.hpp"

namespace nearfar::bench {
namespace {

constexpr std::uint64_t line_words = 8;

std::uint64_t stride_of(std::uint64_t words) noexcept {
  return (1 + words + line_words - 1) / line_words * line_words;
}

}  // namespace

KeyValue::KeyValue(RawPool& pool, Bytes log_bytes, std::uint64_t slots, std::uint64_t words)
    : pool_(pool),
      log_(pool, pool.data(), log_bytes, Commit::checksum),
      table_(reinterpret_cast<std::uint64_t*>(pool.data() + log_bytes.count)),
      slots_(slots),
      words_(words),
      stride_(stride_of(words)),
      record_(1 + words) {}

Bytes KeyValue::bytes_for(Bytes log_bytes, std::uint64_t slots, std::uint64_t words) noexcept {
  return {log_bytes.count + slots * stride_of(words) * sizeof(std::uint64_t)};
}

std::uint64_t* KeyValue::slot_of(std::uint64_t key) const noexcept {
  std::uint64_t number = mixed(key) & (slots_ - 1);
  while (slot(number)[0] != 0 && slot(number)[0] != key + 1) number = (number + 1) & (slots_ - 1);
  return slot(number);
}

void KeyValue::apply(std::uint64_t key, std::span<const std::uint64_t> value) noexcept {
  std::uint64_t* at = slot_of(key);
  if (at[0] == 0) ++used_;
  at[0] = key + 1;
  std::ranges::copy(value, at + 1);
}

std::string KeyValue::recover() {
  used_ = 0;
  for (std::uint64_t i = 0; i < slots_; ++i) used_ += slot(i)[0] != 0 ? 1 : 0;
  if (used_ > slots_ / 2) return "the table is more than half full";
  log_.recover();
  std::string wrong;
  log_.for_each([&](std::uint64_t sequence, std::span<const std::uint64_t> record) {
    if (record.size() != 1 + words_) {
      wrong = "record " + std::to_string(sequence) + " of the write-ahead log is not a put";
    } else if (wrong.empty()) {
      apply(record[0], record.subspan(1));
    }
  });
  if (wrong.empty() && !log_.empty()) checkpoint();
  return wrong;
}

void KeyValue::checkpoint() {
  std::vector<std::uint64_t*> changed;
  log_.for_each([&](std::uint64_t, std::span<const std::uint64_t> record) {
    changed.push_back(slot_of(record[0]));
  });
  // Flushes a value that was put several times once.
  std::ranges::sort(changed);
  const auto rest = std::ranges::unique(changed);
  changed.erase(rest.begin(), rest.end());
  for (const std::uint64_t* at : changed) pool_.flush(at, (1 + words_) * sizeof(std::uint64_t));
  pool_.drain();
  log_.truncate();
}

bool KeyValue::put(std::uint64_t key, std::span<const std::uint64_t> value) {
  if (used_ >= slots_ / 2 && slot_of(key)[0] == 0) return false;
  record_[0] = key;
  std::ranges::copy(value, record_.begin() + 1);
  if (!log_.append(record_)) {
    checkpoint();
    if (!log_.append(record_)) return false;
  }
  apply(key, value);
  return true;
}

const std::uint64_t* KeyValue::get(std::uint64_t key) const noexcept {
  const std::uint64_t* at = slot_of(key);
  return at[0] == 0 ? nullptr : at + 1;
}

}  // namespace nearfar::bench

#endif
