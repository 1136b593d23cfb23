#include "bench/pool.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "bench/errors.hpp"

namespace nearfar::bench {

void check_new_pool(const std::string& path) {
  if (path.empty()) throw BadArgument("memory=pool needs pool=PATH, of a file that is not there");
  struct stat found {};
  // Device-DAX is there always and has no other content than what is mapped.
  if (stat(path.c_str(), &found) == 0 && !S_ISCHR(found.st_mode)) {
    throw BadArgument("pool=" + path + " exists; it would be overwritten: name another");
  }
}

RemovedAtEnd::~RemovedAtEnd() {
  struct stat found {};
  if (!path_.empty() && stat(path_.c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
    unlink(path_.c_str());
  }
}

}  // namespace nearfar::bench
