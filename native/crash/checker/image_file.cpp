#include "crash/checker/image_file.hpp"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/checker/maps.hpp"
#include "crash/checker/messages.hpp"
#include "crash/checker/reads.hpp"

namespace nearfar::crash {

namespace {

// A checker may have replaced the descriptors of its standard streams, and needs those numbers.
constexpr int first_kept = 3;

bool keeps_open = false;
struct stat known {};

struct {
  int file = -1;
  int flags = 0;
  bool in_use = false;
} kept;

bool can_keep(const char* path, int flags) {
  static const char* const image = getenv(NF_CRASH_IMAGE);
  return keeps_open && keeps_private() && !tracks_reads() && (flags & ~O_CLOEXEC) == O_RDONLY &&
         image != nullptr && strcmp(path, image) == 0;
}

// Returns the kept descriptor, or -1. Its number may have been closed and opened behind this
// library's back.
int reuse(int flags) {
  struct stat now {};
  const bool usable = kept.file >= 0 && !kept.in_use && kept.flags == flags &&
                      fstat(kept.file, &now) == 0 && !differs(now, known) &&
                      lseek(kept.file, 0, SEEK_SET) == 0;
  if (!usable) return -1;
  kept.in_use = true;
  return kept.file;
}

void keep(int file, int flags) {
  struct stat now {};
  if (file < first_kept || fstat(file, &now) != 0 || differs(now, known)) return;
  if (kept.file >= 0 && kept.file != file && !kept.in_use && fstat(kept.file, &now) == 0 &&
      now.st_dev == known.st_dev && now.st_ino == known.st_ino) {
    syscall(SYS_close, kept.file);
  }
  kept.file = file;
  kept.flags = flags;
  kept.in_use = true;
}

}  // namespace

bool differs(const struct stat& a, const struct stat& b) {
  return a.st_ino != b.st_ino || a.st_dev != b.st_dev || a.st_size != b.st_size ||
         a.st_mode != b.st_mode || a.st_nlink != b.st_nlink ||
         memcmp(&a.st_mtim, &b.st_mtim, sizeof a.st_mtim) != 0 ||
         memcmp(&a.st_ctim, &b.st_ctim, sizeof a.st_ctim) != 0;
}

void keep_open(const struct stat& image) {
  keeps_open = true;
  known = image;
}

bool is_known_image(int file, struct stat& status) {
  return keeps_open && fstat(file, &status) == 0 && status.st_dev == known.st_dev &&
         status.st_ino == known.st_ino;
}

}  // namespace nearfar::crash

using namespace nearfar::crash;

#pragma GCC visibility push(default)
extern "C" {

#define NEARFAR_HOOK_OPEN(name)                                  \
  int name(const char* path, int flags, ...) {                   \
    mode_t mode = 0;                                             \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) != 0) {    \
      va_list more;                                              \
      va_start(more, flags);                                     \
      mode = va_arg(more, mode_t);                               \
      va_end(more);                                              \
    }                                                            \
    NEARFAR_NEXT(name);                                          \
    const bool keeps = can_keep(path, flags);                    \
    if (const int file = keeps ? reuse(flags) : -1; file >= 0) { \
      return file;                                               \
    }                                                            \
    const int file = real(path, flags, mode);                    \
    if (keeps && file >= 0) keep(file, flags);                   \
    return file;                                                 \
  }
NEARFAR_HOOK_OPEN(open)
NEARFAR_HOOK_OPEN(open64)

int close(int file) {
  if (file >= 0 && file == kept.file && kept.in_use) {
    kept.in_use = false;
    return 0;
  }
  NEARFAR_NEXT(close);
  return real(file);
}
}
#pragma GCC visibility pop
