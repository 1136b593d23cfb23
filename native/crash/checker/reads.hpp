// Which lines of the image a check touches: reads, or stores to.
//
// Only some lines count: those that the states of a batch differ in. Their pages are mapped from
// memory of their own, without access at first. An access faults; its lines are noted, and a copy
// of the instruction runs on another mapping of the page (detour.hpp). What no copy can do opens
// the page, and all its lines count as touched. The checker's system calls are stopped too (Syscall
// User Dispatch): one that may reach the image in a way that is not known here ends the tracking,
// and all lines count as touched.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "crash/checker/maps.hpp"

namespace nearfar::crash {

constexpr unsigned max_tracked_lines = 128;

// Starts to track the check that follows; `lines` are offsets in ascending order, and stay valid.
// `image`: the content that the check gets. After `limit_ns` all lines count as touched. False: it
// cannot be tracked, since the image is mapped already, there are other threads, or the system
// lacks what it needs.
bool begin_tracking(const std::uint64_t* lines, unsigned count, const char* image,
                    const struct stat& file, std::int64_t limit_ns);
// Ends it, and sets touched[i] for each line.
void end_tracking(bool* touched);

// For maps.cpp. Whether a check is tracked.
bool tracks_reads();
// Maps the tracked pages into a new mapping.
void cover(const Map& map);
// Opens tracked pages in [begin, begin + bytes).
void open_pages(const void* begin, std::size_t bytes);
// From here on, all lines count as touched.
void stop_tracking();
// Ends this process, if the check is tracked, so that a new one repeats it without tracking.
void give_up_tracking();

}  // namespace nearfar::crash
