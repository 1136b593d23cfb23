#ifdef NEARFAR_HAVE_PMEM

#include "bench/pages/drive.hpp"

#include <nearfar/crash.h>

#include <optional>
#include <random>

#include "bench/driven_pool.hpp"
#include "bench/pattern.hpp"

namespace nearfar::bench {
namespace {

constexpr const char* layout = "nearfar-pages-1 driven";
constexpr std::uint64_t pages = 4;
constexpr std::uint64_t spare = 2;
// Maximum version of a page, more than a driver reaches.
constexpr std::uint64_t max_versions = 100'000;

std::optional<std::uint64_t> version_of(std::span<const std::uint64_t> words, std::uint64_t page) {
  for (std::uint64_t version = 0; version < max_versions; ++version) {
    if (words[0] == first_word(page, version)) return version;
  }
  return std::nullopt;
}

std::uint64_t checked_version(const PageTable& table, std::uint64_t page) {
  const auto words = page_words(table, page);
  const auto version = version_of(words, page);
  if (!version || !is_filled(words, page, *version)) {
    throw WrongContent("page " + std::to_string(page) + " is not a complete version of itself");
  }
  return *version;
}

}  // namespace

void drive_pages(const std::string& path, std::uint64_t operations, std::uint64_t seed) {
  RawPool pool;
  const bool created = open_or_make(pool, path, layout, PageTable::bytes_for(pages, spare));
  PageTable table(pool, pages, spare);
  if (created) {
    table.make();
    for (std::uint64_t page = 0; page < pages; ++page) fill(page_words(table, page), page, 0);
    pool.persist(pool.data(), pool.bytes().count);
    pool.seal();
  }
  recover(table);
  std::mt19937_64 random(seed);
  PageContent content;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t page = random() % pages;
    const std::uint64_t version = checked_version(table, page) + 1;
    fill(content, page, version);
    NEARFAR_CRASH_OP("insert", page, version);
    table.replace(page, content.data());
    NEARFAR_CRASH_OUTCOME(1);
  }
}

namespace {

// Calls `visit(page, version)` for each page, then tests whether a page can still be replaced.
template <typename Visit>
void visit_pages(const std::string& path, Visit visit) {
  if (is_unfinished(path)) return;
  RawPool pool;
  pool.open(path, layout);
  PageTable table(pool, pages, spare);
  recover(table);
  for (std::uint64_t page = 0; page < pages; ++page) visit(page, checked_version(table, page));
  PageContent content;
  fill(content, 0, checked_version(table, 0) + 1);
  table.replace(0, content.data());
  (void)checked_version(table, 0);
}

}  // namespace

void check_pages(const std::string& path) {
  visit_pages(path, [](std::uint64_t, std::uint64_t) {});
}

void dump_pages(const std::string& path) {
  visit_pages(path, [](std::uint64_t page, std::uint64_t version) {
    // Version 0 was not written by an operation.
    if (version != 0) print_version(page, version);
  });
}

}  // namespace nearfar::bench

#endif
