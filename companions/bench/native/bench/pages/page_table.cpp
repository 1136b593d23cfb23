#ifdef NEARFAR_HAVE_PMEM

#include "bench/pages/page_table.hpp"

namespace nearfar::bench {
namespace {

std::uint64_t table_bytes(std::uint64_t pages) noexcept {
  const std::uint64_t raw = pages * sizeof(std::uint64_t);
  return (raw + PageTable::page_bytes - 1) / PageTable::page_bytes * PageTable::page_bytes;
}

}  // namespace

PageTable::PageTable(RawPool& pool, std::uint64_t pages, std::uint64_t spare) noexcept
    : pool_(pool),
      table_(reinterpret_cast<std::uint64_t*>(pool.data())),
      slots_(pool.data() + table_bytes(pages)),
      pages_(pages),
      spare_(spare) {}

Bytes PageTable::bytes_for(std::uint64_t pages, std::uint64_t spare) noexcept {
  return {table_bytes(pages) + (pages + spare) * page_bytes};
}

void PageTable::make() noexcept {
  for (std::uint64_t page = 0; page < pages_; ++page) table_[page] = page;
}

std::string PageTable::recover() {
  std::vector<bool> used(pages_ + spare_);
  for (std::uint64_t page = 0; page < pages_; ++page) {
    const std::uint64_t at = table_[page];
    if (at >= used.size()) return "page " + std::to_string(page) + " has a slot beyond the pool";
    if (used[at]) return "two pages share slot " + std::to_string(at);
    used[at] = true;
  }
  free_.clear();
  for (std::uint64_t at = 0; at < used.size(); ++at) {
    if (!used[at]) free_.push_back(at);
  }
  return {};
}

void PageTable::replace(std::uint64_t page, const void* content) {
  const std::uint64_t free_slot = free_.back();
  pool_.copy(slot(free_slot), content, page_bytes);
  free_.back() = table_[page];
  table_[page] = free_slot;
  pool_.persist(&table_[page], sizeof table_[page]);
}

}  // namespace nearfar::bench

#endif
