// pages: replaces whole pages by copy on write.
#include <array>
#include <mutex>
#include <vector>

#include "bench/kind.hpp"
#include "bench/pages/page_table.hpp"
#include "bench/pattern.hpp"
#include "bench/pool_workload.hpp"
#include "bench/stretch.hpp"
#ifdef NEARFAR_HAVE_PMEM
#include "bench/pages/drive.hpp"
#endif

namespace nearfar::bench {
namespace {

#ifdef NEARFAR_HAVE_PMEM

class Pages final : public PoolWorkload {
 public:
  explicit Pages(Arguments& arguments)
      : PoolWorkload(arguments, "nearfar-pages-1"),
        stretch_(arguments),
        versions_(arguments.count("pages")) {
    if (versions_.empty()) throw BadArgument("pages=0: it must be at least 1");
  }

  void run(Meter& meter) override {
    stretch_.run(meter, [&](Lane& lane) {
      // Each thread has its own part of the pages.
      const std::uint64_t share = versions_.size() / stretch_.threads();
      const std::uint64_t page =
          share == 0 ? lane.index % versions_.size() : lane.index * share + lane.random() % share;
      replace(page);
    });
    meter.note("payload_gb_per_s", static_cast<double>(meter.operations * PageTable::page_bytes) /
                                       std::max(meter.wall.count, 1.0));
  }

  void verify() override {
    for (std::uint64_t page = 0; page < versions_.size(); ++page) {
      if (!is_filled(page_words(*table_, page), page, versions_[page])) {
        throw WrongContent("page " + std::to_string(page) + " is not its version " +
                           std::to_string(versions_[page]));
      }
    }
  }

 protected:
  [[nodiscard]] Bytes min_bytes() const override {
    return PageTable::bytes_for(versions_.size(), spare);
  }
  void fill_new() override {
    PageTable table(pool(), versions_.size(), spare);
    table.make();
    for (std::uint64_t page = 0; page < versions_.size(); ++page) {
      fill(page_words(table, page), page, 0);
    }
  }
  void opened() override {
    table_ = std::make_unique<PageTable>(pool(), versions_.size(), spare);
    if (const std::string wrong = table_->recover(); !wrong.empty()) throw WrongContent(wrong);
  }
  void closing() override { table_.reset(); }

 private:
  // Free slots, used in turn, so that a written page is not overwritten in the caches at once.
  static constexpr std::uint64_t spare = 64;

  void replace(std::uint64_t page) {
    PageContent content;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (stretch_.threads() > 1) lock.lock();
    fill(content, page, ++versions_[page]);
    table_->replace(page, content.data());
  }

  Stretch stretch_;
  std::vector<std::uint64_t> versions_;
  std::unique_ptr<PageTable> table_;
  std::mutex mutex_;
};

std::unique_ptr<Workload> make(Arguments& arguments) { return std::make_unique<Pages>(arguments); }

#else
std::unique_ptr<Workload> make(Arguments& /*given*/) { return nullptr; }
#endif

const Registered pages{{
    .name = "pages",
    .summary = "pages of 4 KiB replaced by copy on write: made durable, then switched",
    .parameters = with_stretch({{"pages", "4096", "pages of 4 KiB that are replaced at random"}}),
    .make = make,
    .needs = pools_need,
#ifdef NEARFAR_HAVE_PMEM
    .check = check_pages,
    .dump = dump_pages,
    .drive = drive_pages,
#endif
}};

}  // namespace
}  // namespace nearfar::bench
