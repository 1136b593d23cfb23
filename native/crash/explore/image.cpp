#include "crash/explore/image.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "crash/trace.h"

namespace nearfar::crash {

Image::Image(std::string path, std::uint64_t bytes)
    : path_(std::move(path)),
      bytes_(bytes),
      whole_((bytes + NF_CRASH_PAGE - 1) / NF_CRASH_PAGE * NF_CRASH_PAGE) {
  void* got = mmap(nullptr, whole_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) throw std::runtime_error("no room for an image of the pool");
  durable_ = static_cast<char*>(got);
  touched_.resize(whole_ / NF_CRASH_PAGE);
  make();
}

Image::~Image() {
  munmap(durable_, whole_);
  if (held_ != nullptr) munmap(held_, whole_);
  if (file_ >= 0) close(file_);
  unlink(path_.c_str());
}

void Image::make() {
  if (held_ != nullptr) munmap(held_, whole_);
  if (file_ >= 0) close(file_);
  unlink(path_.c_str());
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes_)) != 0) {
    throw std::runtime_error("cannot make the image " + path_ + ": " + strerror(errno));
  }
  // Beyond the file's last page would be nothing; the rest of that page is there.
  void* got = mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (got == MAP_FAILED) throw std::runtime_error("cannot map the image " + path_);
  held_ = static_cast<char*>(got);
  for (std::size_t page = 0; page < touched_.size(); ++page) {
    const std::uint64_t at = page * NF_CRASH_PAGE;
    if (touched_[page])
      memcpy(held_ + at, durable_ + at, std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - at));
  }
  note();
}

void Image::note() {
  if (fstat(file_, &known_) != 0) known_ = {};
}

void Image::clear() {
  // A new mapping instead of zeros: pages that nobody touches take no room.
  if (mmap(durable_, whole_, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    throw std::runtime_error("no room for an image of the pool");
  }
  touched_.assign(touched_.size(), false);
  make();
}

void Image::set(std::uint64_t offset, const char* line) {
  if (offset >= bytes_) return;
  const std::uint64_t size = std::min<std::uint64_t>(NF_CRASH_LINE, bytes_ - offset);
  memcpy(durable_ + offset, line, size);
  memcpy(held_ + offset, line, size);
  touched_[offset / NF_CRASH_PAGE] = true;
}

void Image::patch(std::uint64_t offset, const char* line) {
  if (offset >= bytes_) return;
  memcpy(held_ + offset, line, std::min<std::uint64_t>(NF_CRASH_LINE, bytes_ - offset));
}

void Image::undo(std::uint64_t offset) { patch(offset, durable_ + offset); }

void Image::mend(bool private_maps) {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0 || now.st_ino != known_.st_ino ||
      now.st_dev != known_.st_dev || now.st_size != known_.st_size || now.st_nlink != 1) {
    make();
    return;
  }
  const bool same = memcmp(&now.st_mtim, &known_.st_mtim, sizeof now.st_mtim) == 0 &&
                    now.st_mode == known_.st_mode;
  if (private_maps && same) return;
  if (now.st_mode != known_.st_mode) fchmod(file_, 0600);
  compare();
  note();
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
      if (memcmp(held_ + page, durable_ + page, size) != 0)
        memcpy(held_ + page, durable_ + page, size);
    }
    at = hole;
  }
  // What was punched out.
  for (std::size_t page = 0; page < touched_.size(); ++page) {
    if (!touched_[page]) continue;
    const std::uint64_t at = page * NF_CRASH_PAGE;
    const std::uint64_t size = std::min<std::uint64_t>(NF_CRASH_PAGE, bytes_ - at);
    if (memcmp(held_ + at, durable_ + at, size) != 0) memcpy(held_ + at, durable_ + at, size);
  }
}

std::vector<std::uint64_t> Image::pages() const {
  std::vector<std::uint64_t> found;
  for (std::size_t page = 0; page < touched_.size(); ++page) {
    if (touched_[page]) found.push_back(page * NF_CRASH_PAGE);
  }
  return found;
}

}  // namespace nearfar::crash
