// While one is alive, msync does nothing: a pool on a disk is filled without a sync for each
// change.
#pragma once

#include <string>

namespace nearfar::bench {

class Unsynced {
 public:
  // Of the pool in the file `path`; none if it is empty.
  explicit Unsynced(std::string path);
  // Writes what was not synced, all at once: what is timed begins with nothing left to write.
  void sync();
  ~Unsynced();
  Unsynced(const Unsynced&) = delete;
  Unsynced& operator=(const Unsynced&) = delete;

 private:
  std::string path_;
};

}  // namespace nearfar::bench
