#include "crash/files/tracee.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace nearfar::crash::files {

namespace {

constexpr std::size_t stack_bytes = 8192;
constexpr std::size_t max_frames = 24;
constexpr std::size_t max_path = 4096;

pid_t process_of(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  std::string word;
  while (status >> word) {
    pid_t process = 0;
    if (word == "Tgid:" && status >> process) return process;
  }
  return thread;
}

}  // namespace

OwnedFile::~OwnedFile() {
  if (file_ >= 0) close(file_);
}

OwnedFile& OwnedFile::operator=(OwnedFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Tracee::Tracee(pid_t thread)
    : process_(process_of(thread)),
      descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process_, 0))) {}

OwnedFile Tracee::file(int descriptor) const {
  if (descriptor < 0) return OwnedFile();
  return OwnedFile(static_cast<int>(syscall(SYS_pidfd_getfd, descriptor_.get(), descriptor, 0)));
}

std::size_t Tracee::read(std::uint64_t address, void* to, std::size_t bytes) const {
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t copied = process_vm_readv(process_, &local, 1, &remote, 1, 0);
  return copied > 0 ? static_cast<std::size_t>(copied) : 0;
}

std::string Tracee::text(std::uint64_t address) const {
  std::string text;
  char piece[256];
  while (address != 0 && text.size() < max_path) {
    // Does not read beyond the page, because the next one may be unmapped.
    const std::size_t left = 4096 - address % 4096;
    const std::size_t copied = read(address, piece, left < sizeof piece ? left : sizeof piece);
    const std::size_t length = strnlen(piece, copied);
    text.append(piece, length);
    if (length < copied || copied == 0) break;
    address += copied;
  }
  return text;
}

std::string Tracee::path(int folder, std::uint64_t path) const {
  std::string name = text(path);
  if (!name.empty() && name[0] == '/') return name;
  const std::string process = "/proc/" + std::to_string(process_);
  if (folder == AT_FDCWD) return process + "/cwd/" + name;
  const std::string begin = process + "/fd/" + std::to_string(folder);
  return name.empty() ? begin : begin + "/" + name;
}

void Tracee::forget_code() { maps_are_fresh_ = false; }

void Tracee::read_maps() {
  codes_.clear();
  places_.clear();
  may_be_code_.reset();
  std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    char rights[5] = {};
    int path_at = 0;
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &begin, &end, rights, &offset,
               &path_at) < 4)
      continue;
    const bool of_file = path_at > 0 && line.size() > static_cast<std::size_t>(path_at) &&
                         line[static_cast<std::size_t>(path_at)] == '/';
    if (rights[2] != 'x' || !of_file) continue;
    for (unsigned long at = begin >> 20; at <= (end - 1) >> 20; ++at)
      may_be_code_.set(at % may_be_code_.size());
    codes_[begin] = Code{end, begin - offset, line.substr(static_cast<std::size_t>(path_at))};
  }
}

bool Tracee::may_be_code(std::uint64_t address) const {
  return may_be_code_.test((address >> 20) % may_be_code_.size());
}

const Tracee::Code* Tracee::code_at(std::uint64_t address) const {
  const auto after = codes_.upper_bound(address);
  if (after == codes_.begin()) return nullptr;
  const Code& code = std::prev(after)->second;
  return address < code.end ? &code : nullptr;
}

bool Tracee::is_behind_call(std::uint64_t address) const {
  unsigned char before[8] = {};
  if (read(address - 8, before, 8) != 8) return false;
  bool calls = before[3] == 0xe8;  // call to a relative address
  // Indirect calls: ff /2, with no, one-byte and four-byte displacements and an index byte.
  for (const unsigned length : {2U, 3U, 4U, 6U, 7U})
    calls = calls || (before[8 - length] == 0xff && (before[9 - length] & 0x38) == 0x10);
  return calls;
}

std::vector<std::uint64_t> Tracee::stack(
    std::uint64_t instruction, std::uint64_t stack_pointer,
    const std::function<std::uint64_t(const std::string&)>& module) {
  if (!maps_are_fresh_ || code_at(instruction) == nullptr) read_maps();
  maps_are_fresh_ = true;
  const auto place = [&](std::uint64_t address, bool is_known) -> std::uint64_t {
    const Code* const code = code_at(address);
    if (code == nullptr || (!is_known && !is_behind_call(address))) return 0;
    return module(code->path) << 48 | (address - code->base);
  };
  std::vector<std::uint64_t> frames;
  if (const std::uint64_t first = place(instruction, true); first != 0) frames.push_back(first);
  std::uint64_t words[stack_bytes / 8];
  const std::size_t copied = read(stack_pointer, words, sizeof words);
  for (std::size_t i = 0; i < copied / 8 && frames.size() < max_frames; ++i) {
    if (!may_be_code(words[i])) continue;
    const auto [known, is_new] = places_.try_emplace(words[i], 0);
    if (is_new) known->second = place(words[i], false);
    if (known->second != 0) frames.push_back(known->second);
  }
  return frames;
}

}  // namespace nearfar::crash::files
