#include "crash/files/mapped.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace nearfar::crash::files {

namespace {

constexpr std::size_t chunk_bytes = 256 * page_bytes;

}  // namespace

void MappedFiles::add(ino_t number, int file) {
  if (files_.contains(number)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  File fresh;
  fresh.file = OwnedFile(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fresh.file.open()) return;
  fresh.compare(number, nullptr);
  files_[number] = std::move(fresh);
}

void MappedFiles::wrote(ino_t number, std::uint64_t offset, const char* data, std::size_t bytes) {
  const auto known = files_.find(number);
  if (known == files_.end()) return;
  while (bytes > 0) {
    const std::size_t at = offset % page_bytes;
    const std::size_t here = std::min(bytes, page_bytes - at);
    memcpy(known->second.page(offset / page_bytes).data() + at, data, here);
    offset += here;
    data += here;
    bytes -= here;
  }
}

void MappedFiles::resized(ino_t number, std::uint64_t size) {
  const auto known = files_.find(number);
  if (known == files_.end()) return;
  auto& pages = known->second.pages;
  std::erase_if(pages, [&](const auto& page) { return page.first * page_bytes >= size; });
  const auto last = pages.find(size / page_bytes);
  if (last != pages.end()) {
    char* const begin = last->second->data() + size % page_bytes;
    memset(begin, 0, page_bytes - size % page_bytes);
  }
}

void MappedFiles::compare(const Changed& changed) {
  for (auto& [number, file] : files_) file.compare(number, &changed);
}

MappedFiles::Page& MappedFiles::File::page(std::uint64_t number) {
  std::unique_ptr<Page>& page = pages[number];
  if (page == nullptr) page = std::make_unique<Page>();
  return *page;
}

// Pages in holes of the file are all zeros. Only a call can have made them so, and `resized`
// handles such calls.
void MappedFiles::File::compare(ino_t number, const Changed* changed) {
  static char chunk[chunk_bytes];
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return;
  off_t at = 0;
  while (at < status.st_size) {
    at = lseek(file.get(), at, SEEK_DATA);
    if (at < 0) return;
    at -= at % static_cast<off_t>(page_bytes);
    const off_t end = std::min(lseek(file.get(), at, SEEK_HOLE), status.st_size);
    while (at < end) {
      const auto wanted = std::min<std::size_t>(chunk_bytes, static_cast<std::size_t>(end - at));
      const ssize_t got = pread(file.get(), chunk, wanted, at);
      if (got <= 0) return;
      const auto bytes = static_cast<std::size_t>(got);
      for (std::size_t i = 0; i < bytes; i += page_bytes)
        compare_page(number, (static_cast<std::uint64_t>(at) + i) / page_bytes, chunk + i,
                     std::min(page_bytes, bytes - i), changed);
      at += got;
    }
  }
}

void MappedFiles::File::compare_page(ino_t number, std::uint64_t page_number, const char* now,
                                     std::size_t bytes, const Changed* changed) {
  static constexpr Page zeros{};
  const auto known = pages.find(page_number);
  const char* const before = known == pages.end() ? zeros.data() : known->second->data();
  if (memcmp(before, now, bytes) == 0) return;
  std::size_t begin = 0;
  while (before[begin] == now[begin]) begin += 1;
  std::size_t end = bytes;
  while (before[end - 1] == now[end - 1]) end -= 1;
  if (changed != nullptr)
    (*changed)(number, page_number* page_bytes + begin, now + begin, end - begin);
  memcpy(page(page_number).data(), now, bytes);
}

}  // namespace nearfar::crash::files
