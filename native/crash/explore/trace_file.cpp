#include "crash/explore/trace_file.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace nearfar::crash {

TraceFile::TraceFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) throw std::runtime_error("cannot read " + path);
  bytes_ = static_cast<std::size_t>(status.st_size);
  void* mapped = bytes_ < NF_CRASH_HEADER_BYTES
                     ? MAP_FAILED
                     : mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  begin_ = static_cast<const char*>(mapped);
  const auto* header = reinterpret_cast<const nf_crash_header*>(begin_);
  if (memcmp(header->magic, NF_CRASH_MAGIC, sizeof header->magic) != 0 || header->used > bytes_) {
    throw std::runtime_error(path + " is not a trace of nearfar crash");
  }
  used_ = header->used;
}

TraceFile::~TraceFile() { munmap(const_cast<char*>(begin_), bytes_); }

}  // namespace nearfar::crash
