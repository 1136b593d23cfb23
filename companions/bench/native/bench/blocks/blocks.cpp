// blocks: overwrites random blocks of a file and makes each durable, by stores to the mapped file
// or by pwrite and fdatasync, to compare file systems.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "bench/kind.hpp"
#include "bench/pattern.hpp"
#include "bench/pool_workload.hpp"
#include "bench/stretch.hpp"

namespace nearfar::bench {
namespace {

#ifdef NEARFAR_HAVE_PMEM

// An open file for pwrite.
class File {
 public:
  explicit File(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0) throw MachineError("cannot open " + path + ": " + std::strerror(errno));
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const void* from, std::size_t bytes, std::uint64_t at) const {
    const auto offset = static_cast<off_t>(at);
    if (pwrite(file_, from, bytes, offset) != static_cast<ssize_t>(bytes) ||
        fdatasync(file_) != 0) {
      throw MachineError("cannot write to " + path_ + ": " + std::strerror(errno));
    }
  }

 private:
  std::string path_;
  int file_;
};

class Blocks final : public PoolWorkload {
 public:
  explicit Blocks(Arguments& arguments)
      : PoolWorkload(arguments, "nearfar-blocks-1"),
        stretch_(arguments),
        path_(arguments.text("pool")),
        written_(arguments.text("way", {"mapped", "written"}) == "written"),
        words_((arguments.size("block").count + 7) / 8),
        versions_(arguments.count("blocks")) {
    if (versions_.empty() || words_ == 0) throw BadArgument("blocks and block must be at least 1");
    struct stat status {};
    if (written_ && stat(path_.c_str(), &status) == 0 && S_ISCHR(status.st_mode)) {
      throw MachineError("way=written: device-DAX can only be mapped");
    }
  }

  void run(Meter& meter) override {
    const std::unique_ptr<File> file = written_ ? std::make_unique<File>(path_) : nullptr;
    stretch_.run_threads(meter, [&](Lane& lane) {
      std::vector<std::uint64_t> content(words_);
      const std::uint64_t share = versions_.size() / stretch_.threads();
      while (stretch_.going(lane)) {
        const std::uint64_t block =
            share == 0 ? lane.index % versions_.size() : lane.index * share + lane.random() % share;
        lane.operation([&] {
          fill(content, block, ++versions_[block]);
          const std::uint64_t bytes = content.size() * sizeof(std::uint64_t);
          if (file) {
            file->write(content.data(), bytes, offset() + block * bytes);
          } else {
            pool().copy(pool().data() + block * bytes, content.data(), bytes);
          }
        });
      }
    });
    meter.note("payload_gb_per_s", static_cast<double>(meter.operations * words_ * 8) /
                                       std::max(meter.wall.count, 1.0));
  }

  void verify() override {
    for (std::uint64_t block = 0; block < versions_.size(); ++block) {
      const auto* words = reinterpret_cast<const std::uint64_t*>(pool().data()) + block * words_;
      if (!is_filled({words, words_}, block, versions_[block])) {
        throw WrongContent("block " + std::to_string(block) + " does not contain what was written");
      }
    }
  }

  [[nodiscard]] Durability durability() const override {
    Durability durability = pool().durability();
    if (written_) durability.instructions = "pwrite and fdatasync";
    return durability;
  }

 protected:
  [[nodiscard]] Bytes min_bytes() const override {
    return {versions_.size() * words_ * sizeof(std::uint64_t)};
  }
  void fill_new() override {
    auto* words = reinterpret_cast<std::uint64_t*>(pool().data());
    for (std::uint64_t block = 0; block < versions_.size(); ++block) {
      fill({words + block * words_, words_}, block, 0);
    }
  }
  void opened() override {}

 private:
  // Offset of the pool's content in its file: after the header page.
  static std::uint64_t offset() { return 4096; }

  Stretch stretch_;
  std::string path_;
  bool written_;
  std::uint64_t words_;
  std::vector<std::uint64_t> versions_;
};

std::unique_ptr<Workload> make(Arguments& arguments) { return std::make_unique<Blocks>(arguments); }

#else
std::unique_ptr<Workload> make(Arguments& /*given*/) { return nullptr; }
#endif

const Registered blocks{{
    .name = "blocks",
    .summary = "blocks of a file overwritten at random, each made durable, mapped or by pwrite",
    .parameters = with_stretch({{"block", "4KiB", "bytes of a block"},
                                {"blocks", "4096", "blocks of the file"},
                                {"way", "mapped",
                                 "mapped: stores, and what makes them durable; "
                                 "written: pwrite and fdatasync"}}),
    .make = make,
    .needs = pools_need,
}};

}  // namespace
}  // namespace nearfar::bench
