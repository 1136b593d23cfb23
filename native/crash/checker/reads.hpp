// Finds which lines of the image a check touches: reads, or stores to.
//
// Only lines in which the states of a batch differ are tracked. Their pages get memory of their
// own, which is inaccessible at first. An access faults; its lines are noted, and a copy of the
// instruction runs on another mapping of the page (detour.hpp). If an instruction cannot be copied,
// the page is opened and all its lines count as touched. The checker's system calls are stopped too
// (Syscall User Dispatch). A call that may access the image in an unknown way ends the tracking,
// and all lines count as touched.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "crash/checker/maps.hpp"

namespace nearfar::crash {

constexpr unsigned max_tracked_lines = 128;

// Starts to track the next check. `lines` are offsets in ascending order, which must stay valid;
// `image` is the content that the check gets. After `limit_ns` all lines count as touched. Returns
// false if the check cannot be tracked: the image is mapped already, there are other threads, or
// the system does not support it.
bool begin_tracking(const std::uint64_t* lines, unsigned count, const char* image,
                    const struct stat& file, std::int64_t limit_ns);
// Ends the tracking and sets touched[i] for each line.
void end_tracking(bool* touched);

// For maps.cpp: whether a check is tracked.
bool tracks_reads();
// Maps the tracked pages into a new mapping.
void cover(const Map& map);
// Opens tracked pages in [begin, begin + bytes).
void open_pages(const void* begin, std::size_t bytes);
// From now on, all lines count as touched.
void stop_tracking();
// If the check is tracked, ends this process, so that a new process repeats the check without
// tracking.
void give_up_tracking();

}  // namespace nearfar::crash
