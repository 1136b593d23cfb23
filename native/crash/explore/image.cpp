#include "crash/explore/image.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "crash/trace.h"

namespace nearfar::crash {

namespace {

// Above this size, a new mapping is cheaper than clearing.
constexpr std::size_t max_cleared_pages = 256;

}  // namespace

Image::Image(std::string path, std::uint64_t bytes)
    : path_(std::move(path)),
      bytes_(bytes),
      whole_((bytes + NF_CRASH_PAGE - 1) / NF_CRASH_PAGE * NF_CRASH_PAGE) {
  void* mapped = mmap(nullptr, whole_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("no memory for an image of the pool");
  durable_ = static_cast<char*>(mapped);
  touched_.resize(whole_ / NF_CRASH_PAGE);
  create();
}

Image::~Image() {
  munmap(durable_, whole_);
  if (mapped_file_ != nullptr) munmap(mapped_file_, whole_);
  if (file_ >= 0) close(file_);
  unlink(path_.c_str());
}

void Image::create() {
  if (mapped_file_ != nullptr) munmap(mapped_file_, whole_);
  if (file_ >= 0) close(file_);
  unlink(path_.c_str());
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes_)) != 0) {
    throw std::runtime_error("cannot create the image " + path_ + ": " + strerror(errno));
  }
  // Also maps the rest of the file's last page.
  void* mapped = mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map the image " + path_);
  mapped_file_ = static_cast<char*>(mapped);
  for (std::size_t page = 0; page < touched_.size(); ++page) {
    const std::uint64_t at = page * NF_CRASH_PAGE;
    if (touched_[page])
      memcpy(mapped_file_ + at, durable_ + at, std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - at));
  }
  record_status();
}

void Image::record_status() {
  if (fstat(file_, &known_) != 0) known_ = {};
}

void Image::clear() {
  const auto touched = static_cast<std::size_t>(std::count(touched_.begin(), touched_.end(), true));
  if (touched <= max_cleared_pages) {
    for (std::size_t page = 0; page < touched_.size(); ++page) {
      if (!touched_[page]) continue;
      const std::uint64_t at = page * NF_CRASH_PAGE;
      memset(durable_ + at, 0, std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - at));
      memset(mapped_file_ + at, 0, std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - at));
    }
    touched_.assign(touched_.size(), false);
    return;
  }
  // A new mapping instead of writing zeros, because untouched pages use no memory.
  if (mmap(durable_, whole_, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    throw std::runtime_error("no memory for an image of the pool");
  }
  touched_.assign(touched_.size(), false);
  create();
}

void Image::set(std::uint64_t offset, const char* line) {
  if (offset >= bytes_) return;
  const std::uint64_t size = std::min<std::uint64_t>(NF_CRASH_LINE, bytes_ - offset);
  memcpy(durable_ + offset, line, size);
  memcpy(mapped_file_ + offset, line, size);
  touched_[offset / NF_CRASH_PAGE] = true;
}

void Image::patch(std::uint64_t offset, const char* line) {
  if (offset >= bytes_) return;
  memcpy(mapped_file_ + offset, line, std::min<std::uint64_t>(NF_CRASH_LINE, bytes_ - offset));
}

void Image::undo(std::uint64_t offset) { patch(offset, durable_ + offset); }

void Image::restore(bool private_maps) {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0 || now.st_ino != known_.st_ino ||
      now.st_dev != known_.st_dev || now.st_size != known_.st_size || now.st_nlink != 1) {
    create();
    return;
  }
  const bool same = memcmp(&now.st_mtim, &known_.st_mtim, sizeof now.st_mtim) == 0 &&
                    now.st_mode == known_.st_mode;
  if (private_maps && same) return;
  if (now.st_mode != known_.st_mode) fchmod(file_, 0600);
  compare();
  record_status();
}

void Image::compare() {
  for (off_t at = 0; at < static_cast<off_t>(bytes_);) {
    const off_t data = lseek(file_, at, SEEK_DATA);
    if (data < 0) break;
    off_t hole = lseek(file_, data, SEEK_HOLE);
    if (hole < 0) hole = static_cast<off_t>(bytes_);
    for (std::uint64_t page = static_cast<std::uint64_t>(data) / NF_CRASH_PAGE * NF_CRASH_PAGE;
         page < static_cast<std::uint64_t>(hole); page += NF_CRASH_PAGE) {
      const std::uint64_t size = std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - page);
      if (memcmp(mapped_file_ + page, durable_ + page, size) != 0)
        memcpy(mapped_file_ + page, durable_ + page, size);
    }
    at = hole;
  }
  // Allocates punched holes again.
  for (std::size_t page = 0; page < touched_.size(); ++page) {
    if (!touched_[page]) continue;
    const std::uint64_t at = page * NF_CRASH_PAGE;
    const std::uint64_t size = std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - at);
    if (memcmp(mapped_file_ + at, durable_ + at, size) != 0)
      memcpy(mapped_file_ + at, durable_ + at, size);
  }
}

std::vector<std::uint64_t> Image::pages() const {
  std::vector<std::uint64_t> offsets;
  for (std::size_t page = 0; page < touched_.size(); ++page) {
    if (touched_[page]) offsets.push_back(page * NF_CRASH_PAGE);
  }
  return offsets;
}

}  // namespace nearfar::crash
