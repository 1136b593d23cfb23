#include "crash/kernel_state.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nearfar::crash {

char kernel_state_of(long thread, unsigned long* ticks) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 'X';
  char text[512] = {};
  const long received = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  // proc(5): pid (name) state ...; utime and stime are fields 14 and 15.
  const char* at = received > 0 ? strrchr(text, ')') : nullptr;
  if (at == nullptr) return 'X';
  char code = 'X';
  unsigned long user = 0;
  unsigned long system = 0;
  sscanf(at + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &code, &user, &system);
  *ticks = user + system;
  return code;
}

}  // namespace nearfar::crash
