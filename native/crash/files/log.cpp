#include "crash/files/log.hpp"

namespace nearfar::crash::files {

namespace {

// Space for many records, whose data is mostly a page.
constexpr std::size_t buffer_bytes = 1 << 18;

}  // namespace

Log::Log(const char* path, std::uint64_t limit_bytes)
    : file_(std::fopen(path, "wbe")), left_(limit_bytes) {
  if (file_ != nullptr) std::setvbuf(file_, nullptr, _IOFBF, buffer_bytes);
}

Log::~Log() {
  if (file_ != nullptr) std::fclose(file_);
}

void Log::append(LogRecord record, const std::vector<std::uint64_t>& frames, const void* payload) {
  const std::uint64_t padded = (std::uint64_t{record.bytes} + 7) / 8 * 8;
  const std::uint64_t size = sizeof record + 8 * frames.size() + padded;
  full_ = full_ || size > left_;
  if (full_) return;
  left_ -= size;
  records_ += 1;
  record.frames = static_cast<std::uint16_t>(frames.size());
  static constexpr char zeros[8] = {};
  bool written = std::fwrite(&record, sizeof record, 1, file_) == 1;
  written = written && std::fwrite(frames.data(), 8, frames.size(), file_) == frames.size();
  written = written && std::fwrite(payload, 1, record.bytes, file_) == record.bytes;
  written = written && std::fwrite(zeros, 1, padded - record.bytes, file_) == padded - record.bytes;
  full_ = !written;
}

void Log::append(LogRecord record, const std::vector<std::uint64_t>& frames,
                 std::string_view text) {
  record.bytes = static_cast<std::uint32_t>(text.size());
  append(record, frames, static_cast<const void*>(text.data()));
}

}  // namespace nearfar::crash::files
