// Ring that the kernel fills with records of an event on one CPU (perf_event_open(2), "MMAP
// layout"). It is copied before reading, since a record may wrap around.
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace nearfar::profile {

class SampledRing {
 public:
  // 256 KiB hold some thousand samples; the kernel lets any user lock 512 KiB per CPU.
  static constexpr std::size_t data_pages = 64;

  // Returns false with errno set if the kernel refuses the memory.
  bool map(int descriptor) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* memory = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return false;
    head_page_ = static_cast<perf_event_mmap_page*>(memory);
    data_ = static_cast<const std::byte*>(memory) + page_;
    return true;
  }
  void unmap() {
    if (head_page_ != nullptr) munmap(head_page_, size());
    head_page_ = nullptr;
  }

  // Passes new records to `read(bytes)`, which returns the bytes read; returns false if there are
  // none.
  template <typename Read>
  bool drain(std::vector<std::byte>& copy, Read read) {
    const std::uint64_t head = __atomic_load_n(&head_page_->data_head, __ATOMIC_ACQUIRE);
    const std::uint64_t tail = head_page_->data_tail;
    if (head == tail) return false;
    const std::size_t capacity = data_pages * page_;
    const auto count = static_cast<std::size_t>(head - tail);
    const auto first = static_cast<std::size_t>(tail % capacity);
    const std::size_t before_end = count < capacity - first ? count : capacity - first;
    copy.resize(count);
    std::memcpy(copy.data(), data_ + first, before_end);
    std::memcpy(copy.data() + before_end, data_, count - before_end);
    const std::size_t consumed = read(std::span<const std::byte>(copy));
    __atomic_store_n(&head_page_->data_tail, tail + consumed, __ATOMIC_RELEASE);
    return consumed != 0;
  }

 private:
  std::size_t size() const { return (1 + data_pages) * page_; }

  std::size_t page_ = 4096;
  perf_event_mmap_page* head_page_ = nullptr;
  const std::byte* data_ = nullptr;
};

}  // namespace nearfar::profile
