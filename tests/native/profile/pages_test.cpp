// Tests whose pages are. The runtime is not a linkable library: include its sources.
#include "profile/runtime/pages.cpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "profile/runtime/shadow.cpp"

namespace nearfar::profile {
__thread Thread this_thread = {};
Runtime runtime;
std::uint16_t site_of_untagged(std::uint64_t) { return site_unknown; }
}  // namespace nearfar::profile

using namespace nearfar::profile;

namespace {

constexpr std::uint16_t list = 9;

// Records of pages in memory, and the address of a whole page.
struct Counted {
  Counted() : memory(sizeof(ProcessHeader) + 64 * sizeof(PageRecord)) {
    auto& header = *reinterpret_cast<ProcessHeader*>(memory.data());
    header.pages = {sizeof(ProcessHeader), 64, 0, 0};
    this_thread.id = 1;
    runtime.lines = nearfar::sim::SampledLines(nearfar::sim::SampledLines::usual_rate_log2);
    REQUIRE(runtime.shadow.reserve(runtime.lines));
    REQUIRE(reserve_pages(false));
    runtime.pages.attach(header, header.pages);
  }

  static std::uint64_t whole_page(unsigned number) {
    std::uint64_t page = 1u << 20;
    for (;; ++page) {
      if (nf_whole(page << 12) != 0 && number-- == 0) return page << 12;
    }
  }
  static std::uint64_t line_of(std::uint64_t page) {
    return page | runtime.lines.first_in_page(page >> 12) << 6;
  }
  static std::uint64_t first(std::uint64_t phase, std::uint16_t owner) {
    const PageRecord* record = runtime.pages.find(key_of(phase, owner));
    return record == nullptr ? 0 : record->first;
  }

  std::vector<char> memory;
};

}  // namespace

TEST_CASE("a small block is tagged like any range, and its first tag is its owner") {
  Counted const counted;
  const Shadow& shadow = runtime.shadow;
  Shadow expected;
  REQUIRE(expected.reserve(runtime.lines));
  std::uint64_t dice = 1;
  for (std::uint16_t site = 4; site < 4000; ++site) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    const std::uint64_t begin = (1ull << 32) + (dice >> 32) % (1 << 15);
    const std::uint64_t size = 1 + (dice >> 48) % (site % 2 == 0 ? 100 : 8192 - begin % 4096);
    const auto cover = nearfar::sim::SampledLines::cover(begin, size);
    CHECK(expected.tag(begin, size, site) == cover.bytes());
    shadow.tag(cover, Shadow::tags_of(site), site % 3 == 0);
    if (cover.bytes() != 0) CHECK(shadow.first_tag(cover) == site);
    for (std::uint64_t page = 1ull << 20; page < (1ull << 20) + 16; ++page) {
      for (std::uint64_t at = page << 12; at < (page << 12) + 64; at += 16)
        CHECK(*shadow.entry(at) == *expected.entry(at));
    }
  }
}

TEST_CASE("a page is its owner's from its first touch on, once the owner is known") {
  Counted const counted;
  const std::uint64_t page = Counted::whole_page(0);
  touch_page(1, page, true);
  CHECK(Counted::first(1, site_unknown) == 1);
  runtime.shadow.tag(page, 4096, list);
  touch_page(2, Counted::line_of(page), true);  // the same page again, which is no new touch
  CHECK(Counted::first(1, site_unknown) == 0);
  CHECK(Counted::first(1, list) == 1);
  CHECK(runtime.pages.find(key_of(2, list)) == nullptr);
  runtime.shadow.tag(page, 4096, list + 1);
  touch_page(2, Counted::whole_page(1), true);
  touch_page(2, page, false);
  CHECK(Counted::first(1, list) == 1);
  CHECK(Counted::first(2, site_unknown) == 1);
  CHECK(Counted::first(2, list + 1) == 0);
}

TEST_CASE("unknown memory beside the block on a page's line does not hide the block") {
  Counted const counted;
  const std::uint64_t page = Counted::whole_page(0);
  *runtime.shadow.entry(Counted::line_of(page)) = site_unknown;
  runtime.shadow.tag(Counted::line_of(page) + 16, 16, list);
  touch_page(1, page, false);
  CHECK(Counted::first(1, list) == 1);
}

TEST_CASE("first touches add up to the pages while fewer and fewer are followed") {
  Counted const counted;
  constexpr unsigned pages = 3 * 4096;
  for (unsigned number = 0, found = 0; found < pages; ++number) {
    const std::uint64_t page = (std::uint64_t{1} << 20) + number;
    if (nf_whole(page << 12) == 0) continue;
    ++found;
    touch_page(1, page << 12, true);
    if (found % 2 == 0) continue;
    runtime.shadow.tag(page << 12, 4096, list);
    touch_page(1, Counted::line_of(page << 12), true);
  }
  const std::uint64_t unknown = Counted::first(1, site_unknown);
  const std::uint64_t known = Counted::first(1, list);
  CHECK(unknown + known == doctest::Approx(pages).epsilon(0.1));
  CHECK(known == doctest::Approx(pages / 2).epsilon(0.1));
}

TEST_CASE("a child leaves its parent's first touches as they are") {
  Counted const counted;
  const std::uint64_t page = Counted::whole_page(0);
  touch_page(1, page, true);
  touch_page(1, Counted::whole_page(1), true);
  continue_pages_in_child();
  runtime.shadow.tag(page, 4096, list);
  touch_page(1, page, true);
  CHECK(Counted::first(1, site_unknown) == 2);
  CHECK(Counted::first(1, list) == 0);
}

TEST_CASE("a table with pages that the stack has lost is thinned before it is full") {
  Counted const counted;
  // Signal handlers that jump out of the runtime lose pages of the stack, here all of them.
  std::vector<std::uint64_t> memory(nearfar::sim::ReuseStack::bytes_for(max_pages) / 8);
  unsigned touched = 0;
  for (std::uint64_t page = 1u << 20; touched < 4 * entries; ++page) {
    if (nf_whole(page << 12) == 0) continue;
    touch_page(0, page << 12, false);
    if (++touched % 1000 != 0) continue;
    std::fill(memory.begin(), memory.end(), 0);
    stack = nearfar::sim::ReuseStack(max_pages, memory.data());
  }
  CHECK(thinning_log2 > 0);
  CHECK(used_entries <= entries / 2);
}

TEST_CASE("an incomplete thinning is completed with the same share") {
  Counted const counted;
  const auto touch_all = [](unsigned pages) {
    for (std::uint64_t page = 1u << 20; pages != 0; ++page) {
      if (nf_whole(page << 12) == 0) continue;
      touch_page(0, page << 12, false);
      --pages;
    }
  };
  touch_all(max_pages + 1);
  REQUIRE(thinning_log2 == 1);
  const std::uint32_t followed_pages = used_entries;
  is_thinning = true;
  touch_all(1);
  CHECK(!is_thinning);
  CHECK(thinning_log2 == 1);
  CHECK(used_entries == followed_pages);
  CHECK(stack.live() == followed_pages);
}
