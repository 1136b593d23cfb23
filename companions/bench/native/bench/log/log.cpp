// log: records appended one after the other, each durable before the next.
#include <mutex>
#include <optional>
#include <vector>

#include "bench/kind.hpp"
#include "bench/log/record_log.hpp"
#include "bench/pattern.hpp"
#include "bench/pool_workload.hpp"
#include "bench/stretch.hpp"
#ifdef NEARFAR_HAVE_PMEM
#include "bench/log/drive.hpp"
#endif

namespace nearfar::bench {
namespace {

#ifdef NEARFAR_HAVE_PMEM

class Log final : public PoolWorkload {
 public:
  explicit Log(Arguments& arguments)
      : Log(arguments, arguments.text("commit", {"tail", "checksum"})) {}

  void run(Meter& meter) override {
    stretch_.run_threads(meter, [&](Lane& lane) {
      std::vector<std::uint64_t> record(words_);
      while (stretch_.going(lane)) lane.operation([&] { append(record); });
    });
    expected_ += meter.operations;
    meter.note("payload_gb_per_s", static_cast<double>(meter.operations * words_ * 8) /
                                       std::max(meter.wall.count, 1.0));
  }

  void verify() override {
    if (log_->next_sequence() != expected_) {
      throw WrongContent("the log ends with record " + std::to_string(log_->next_sequence()) +
                         ", but " + std::to_string(expected_) + " were appended");
    }
    check_records(*log_, words_);
  }

 protected:
  [[nodiscard]] Bytes min_bytes() const override {
    return {RecordLog::overhead + RecordLog::bytes_of(words_)};
  }
  // Larger than a core's usual share of a last-level cache, and quickly written to a disk.
  [[nodiscard]] Bytes default_bytes() const override {
    return {std::max<std::uint64_t>(min_bytes().count, 64U << 20U)};
  }
  void opened() override {
    log_ = std::make_unique<RecordLog>(pool(), pool().data(), pool().bytes(), commit_);
    log_->recover();
  }
  void closing() override { log_.reset(); }

 private:
  Log(Arguments& arguments, const std::string& commit)
      : PoolWorkload(arguments, layout_of_log(commit == "tail" ? Commit::tail : Commit::checksum)),
        stretch_(arguments),
        words_((arguments.size("record").count + 7) / 8),
        commit_(commit == "tail" ? Commit::tail : Commit::checksum) {
    if (words_ == 0) throw BadArgument("record=0: a record must have at least 1 byte");
  }

  // The content is computed from the sequence number. A full log restarts.
  void append(std::vector<std::uint64_t>& record) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (stretch_.threads() > 1) lock.lock();
    fill(record, log_->next_sequence(), 0);
    if (log_->append(record)) return;
    log_->truncate();
    (void)log_->append(record);
  }

  Stretch stretch_;
  std::uint64_t words_;
  Commit commit_;
  std::unique_ptr<RecordLog> log_;
  std::mutex mutex_;
  std::uint64_t expected_ = 0;
};

std::unique_ptr<Workload> make(Arguments& arguments) { return std::make_unique<Log>(arguments); }

#else
std::unique_ptr<Workload> make(Arguments& /*given*/) { return nullptr; }
#endif

const Registered log{{
    .name = "log",
    .summary = "records appended to a log in a pool, each durable before the next",
    .parameters = with_stretch(
        {{"record", "64", "bytes of a record's content"},
         {"commit", "tail", "tail: two fences per record; checksum: one fence and a checksum"}}),
    .make = make,
    .needs = pools_need,
#ifdef NEARFAR_HAVE_PMEM
    .check = check_log,
    .drive = drive_log,
#endif
}};

}  // namespace
}  // namespace nearfar::bench
