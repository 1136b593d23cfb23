#include "bench/pool.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "bench/errors.hpp"

namespace nearfar::bench {

void check_new_pool(const std::string& path) {
  if (path.empty()) throw BadArgument("memory=pool needs pool=PATH of a new file");
  struct stat status {};
  // A device-DAX file always exists; its content is only what is mapped.
  if (stat(path.c_str(), &status) == 0 && !S_ISCHR(status.st_mode)) {
    throw BadArgument("pool=" + path + " exists; it would be overwritten: name another");
  }
}

RemovedAtEnd::~RemovedAtEnd() {
  struct stat status {};
  if (!path_.empty() && stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    unlink(path_.c_str());
  }
}

}  // namespace nearfar::bench
