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
  std::vector<bool> taken(pages_ + spare_);
  for (std::uint64_t page = 0; page < pages_; ++page) {
    const std::uint64_t at = table_[page];
    if (at >= taken.size()) return "page " + std::to_string(page) + " has a slot beyond the pool";
    if (taken[at]) return "two pages share slot " + std::to_string(at);
    taken[at] = true;
  }
  free_.clear();
  for (std::uint64_t at = 0; at < taken.size(); ++at) {
    if (!taken[at]) free_.push_back(at);
  }
  return {};
}

void PageTable::replace(std::uint64_t page, const void* content) {
  const std::uint64_t fresh = free_.back();
  pool_.copy(slot(fresh), content, page_bytes);
  free_.back() = table_[page];
  table_[page] = fresh;
  pool_.persist(&table_[page], sizeof table_[page]);
}

}  // namespace nearfar::bench

#endif
