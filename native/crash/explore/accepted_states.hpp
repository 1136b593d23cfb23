// Keys of accepted states, in memory that all workers map.
//
// A state that another worker accepted counts as judged, so the numbers in a report do not depend
// on which worker was first. Refused states are not shared: each worker reports its own.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar::crash {

class AcceptedStates {
 public:
  // `path` is an empty file, or one that another worker mapped. Throws std::runtime_error on
  // failure.
  explicit AcceptedStates(const std::string& path);
  ~AcceptedStates();
  AcceptedStates(const AcceptedStates&) = delete;
  AcceptedStates& operator=(const AcceptedStates&) = delete;

  bool has(std::uint64_t key) const;
  void add(std::uint64_t key);

 private:
  std::uint64_t* slots_ = nullptr;
};

}  // namespace nearfar::crash
