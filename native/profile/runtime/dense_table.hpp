// Finds records by key; records stay in order of creation in a process file's table.
#pragma once

#include <cstdint>

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

// The records are dense in the shared file: few pages, easy to read. Their index is private, uses
// open addressing, and doubles when half full. Readers take no lock. A superseded index stays
// mapped (all of them together are as large as the last). At worst it lacks the newest keys; the
// look-up is then repeated under the lock.
template <typename Record>
class DenseTable {
 public:
  // Resets the index to the records in the file's table.
  void attach(ProcessHeader& header, Table& table) {
    records_ = profile::records<Record>(header, table);
    table_ = &table;
    lock_ = 0;
    index_ = nullptr;
    for (std::uint32_t i = 0; i < table.used; ++i) insert(records_[i].key, i);
  }

  Record* find(std::uint64_t key) const {
    const Index* index = __atomic_load_n(&index_, __ATOMIC_ACQUIRE);
    if (index == nullptr) return nullptr;
    for (std::uint64_t at = hash(key);; ++at) {
      const std::uint32_t entry =
          __atomic_load_n(&index->entries[at & index->mask], __ATOMIC_ACQUIRE);
      if (entry == 0) return nullptr;
      if (records_[entry - 1].key == key) return &records_[entry - 1];
    }
  }

  // `fill(record)` completes a new record before other threads see it. Returns null if the table is
  // full.
  template <typename Fill>
  Record* find_or_add(std::uint64_t key, std::uint32_t self, Fill fill) {
    if (Record* known = find(key)) return known;
    Lock const lock(lock_, self);
    if (Record* known = find(key)) return known;
    complete_addition();
    const std::uint32_t index = table_->used;
    if (index >= table_->capacity) {
      ++table_->lost;
      return nullptr;
    }
    records_[index].key = key;
    fill(records_[index]);
    if (!insert(key, index)) {
      ++table_->lost;
      return nullptr;
    }
    __atomic_store_n(&table_->used, index + 1, __ATOMIC_RELEASE);
    return &records_[index];
  }

  Record& operator[](std::uint32_t index) const { return records_[index]; }
  std::uint32_t used() const { return table_->used; }
  std::uint32_t index_of(const Record& record) const {
    return static_cast<std::uint32_t>(&record - records_);
  }

 private:
  struct Index {
    std::uint64_t mask;
    std::uint32_t entries[];  // index of the record + 1; 0: free
  };

  // A signal handler that jumped out of an addition may have left a record that `find` returns but
  // that is not counted as used.
  void complete_addition() {
    const std::uint32_t index = table_->used;
    if (index < table_->capacity && find(records_[index].key) == &records_[index])
      __atomic_store_n(&table_->used, index + 1, __ATOMIC_RELEASE);
  }

  static std::uint64_t hash(std::uint64_t key) {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ull;
    return mixed ^ mixed >> 32;
  }

  static void store_entry(Index& table, std::uint64_t key, std::uint32_t index) {
    std::uint64_t at = hash(key);
    while (table.entries[at & table.mask] != 0) ++at;
    __atomic_store_n(&table.entries[at & table.mask], index + 1, __ATOMIC_RELEASE);
  }

  bool insert(std::uint64_t key, std::uint32_t index) {
    if (index_ == nullptr || (index + 1) * 2ull > index_->mask) {
      if (!grow(index)) return false;
    }
    store_entry(*index_, key, index);
    return true;
  }

  bool grow(std::uint32_t count) {
    KeepErrno const keep_errno;
    // 1024 entries fill a page, the smallest size.
    const std::uint64_t entries = index_ == nullptr ? 1024 : (index_->mask + 1) * 2;
    void* memory = reserve_memory(sizeof(Index) + entries * sizeof(std::uint32_t));
    if (memory == nullptr) return false;
    auto* larger = static_cast<Index*>(memory);
    larger->mask = entries - 1;
    for (std::uint32_t i = 0; i < count; ++i) store_entry(*larger, records_[i].key, i);
    __atomic_store_n(&index_, larger, __ATOMIC_RELEASE);
    return true;
  }

  Record* records_ = nullptr;
  Table* table_ = nullptr;
  Index* index_ = nullptr;
  std::uint32_t lock_ = 0;
};

}  // namespace nearfar::profile
