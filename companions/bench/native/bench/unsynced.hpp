// While an instance exists, msync does nothing, so that a pool on a disk is filled without a sync
// per change.
#pragma once

#include <string>

namespace nearfar::bench {

class Unsynced {
 public:
  // For the pool in the file `path`; has no effect if it is empty.
  explicit Unsynced(std::string path);
  // Writes all unsynced data at once, so that a timed part begins with nothing left to write.
  void sync();
  ~Unsynced();
  Unsynced(const Unsynced&) = delete;
  Unsynced& operator=(const Unsynced&) = delete;

 private:
  std::string path_;
};

}  // namespace nearfar::bench
