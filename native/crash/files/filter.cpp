#include "crash/files/filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nearfar::crash::files {

namespace {

// System calls that are traced whatever their arguments are.
constexpr unsigned always[] = {
    SYS_write,     SYS_pwrite64,  SYS_writev,         SYS_pwritev,         SYS_pwritev2,
    SYS_sendfile,  SYS_splice,    SYS_fsync,          SYS_copy_file_range, SYS_fdatasync,
    SYS_sync,      SYS_syncfs,    SYS_rename,         SYS_sync_file_range, SYS_renameat,
    SYS_renameat2, SYS_link,      SYS_linkat,         SYS_symlink,         SYS_symlinkat,
    SYS_unlink,    SYS_unlinkat,  SYS_mkdir,          SYS_mkdirat,         SYS_rmdir,
    SYS_truncate,  SYS_ftruncate, SYS_fallocate,      SYS_creat,           SYS_openat2,
    SYS_msync,     SYS_io_setup,  SYS_io_uring_setup,
};

// System calls that are traced if this argument has one of these bits.
struct WithBits {
  unsigned call;
  unsigned argument;
  std::uint32_t bits;
};
constexpr WithBits with_bits[] = {
    {SYS_open, 1, O_CREAT | O_TRUNC},
    {SYS_openat, 2, O_CREAT | O_TRUNC},
    {SYS_mmap, 3, MAP_SHARED},  // also a bit of MAP_SHARED_VALIDATE, but not of MAP_PRIVATE
    {SYS_mmap, 2, PROT_EXEC},   // shows the names of libraries on stacks
};

constexpr std::uint32_t clone_requests[] = {FICLONE, FICLONERANGE};

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

sock_filter argument(unsigned number) {
  return load(offsetof(seccomp_data, args) + std::size_t{8} * number);  // lower half
}

sock_filter answer(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

}  // namespace

bool install_filter() {
  const sock_filter trace = answer(SECCOMP_RET_TRACE);
  const sock_filter allow = answer(SECCOMP_RET_ALLOW);
  // A call of a program for another architecture always stops.
  std::vector<sock_filter> code = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      trace,
      load(offsetof(seccomp_data, nr)),
  };
  for (const unsigned call : always) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    code.push_back(trace);
  }
  for (const WithBits& row : with_bits) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row.call, 0, 4));
    code.push_back(argument(row.argument));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, row.bits, 0, 1));
    code.push_back(trace);
    code.push_back(load(offsetof(seccomp_data, nr)));
  }
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 6));
  code.push_back(argument(1));
  for (const std::uint32_t request : clone_requests) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1));
    code.push_back(trace);
  }
  code.push_back(allow);
  // System calls of the x32 ABI have this bit.
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x40000000, 0, 1));
  code.push_back(trace);
  code.push_back(allow);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace nearfar::crash::files
