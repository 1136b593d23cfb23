#include "profile/runtime/ranges.hpp"

#include "base/positions.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Sites with separate positions; blocks of further sites have none.
constexpr unsigned max_spaces = 1024;
enum : std::uint16_t { no_space = 0, file_space = 1, first_space = 2 };

Positions spaces[max_spaces];
std::uint16_t space_count;
std::uint16_t space_of[1u << 16];
std::uint32_t spaces_lock;
std::uint32_t records_lock;

Positions* positions_of(std::uint16_t site) {
  if (space_of[site] == file_space) return nullptr;
  if (space_of[site] == no_space) {
    if (space_count == max_spaces) return nullptr;
    space_of[site] = static_cast<std::uint16_t>(first_space + space_count++);
  }
  return &spaces[space_of[site] - first_space];
}

void log_position(const Region& region, std::uint64_t position, bool freed) {
  Table& table = runtime.header->positions;
  if (table.used == table.capacity) {
    ++table.lost;
    return;
  }
  records<PositionRecord>(*runtime.header, table)[table.used++] = {region.site, freed, position,
                                                                   region.end - region.begin};
}

// Doubles the bytes of each range until the last range includes the position.
void coarsen(RangeRecord& record, std::uint64_t position) {
  Lock const lock(records_lock, thread_id());
  while (position >> record.bytes_log2 >= ranges_per_site) {
    for (auto& half : record.counts) {
      for (auto& counts : half) {
        for (unsigned i = 0; i < ranges_per_site / 2; ++i) {
          counts[i] = counts[2ul * i] + counts[2ul * i + 1];
        }
        for (unsigned i = ranges_per_site / 2; i < ranges_per_site; ++i) counts[i] = 0;
      }
    }
    ++record.bytes_log2;
  }
}

}  // namespace

void set_position(Region& region) {
  if (region.site < first_free_site) return;
  Lock const lock(spaces_lock, thread_id());
  Positions* positions = positions_of(region.site);
  if (positions == nullptr) return;
  region.position = positions->take(region.end - region.begin);
  log_position(region, region.position, false);
}

void set_file_position(Region& region, std::uint64_t offset) {
  if (region.site < first_free_site) return;
  space_of[region.site] = file_space;
  region.position = offset;
}

void free_position(const Region& region) {
  if (region.position == no_position || space_of[region.site] < first_space) return;
  Lock const lock(spaces_lock, thread_id());
  spaces[space_of[region.site] - first_space].give(region.position, region.end - region.begin);
  log_position(region, region.position, true);
}

void count_in_range(RangeCursor& cursor, std::uint32_t phase, std::uint16_t site,
                    std::uint64_t address, RangeKind kind, std::uint64_t events) {
  if (space_of[site] == no_space) return;
  if (address < cursor.region.begin || address >= cursor.region.end)
    cursor.region = runtime.regions.region_at(address);
  const Region& region = cursor.region;
  if (region.site != site || region.position == no_position) return;
  const std::uint64_t position = region.position + (address - region.begin);
  const std::uint64_t key = std::uint64_t{phase} << 48 | std::uint64_t{site} << 32;
  if (cursor.record == nullptr || cursor.key != key) {
    cursor.record = runtime.ranges.find_or_add(
        key, this_thread.id,
        [](RangeRecord& record_to_fill) { record_to_fill.bytes_log2 = min_range_log2; });
    cursor.key = key;
  }
  RangeRecord* const record = cursor.record;
  if (record == nullptr) return;
  if (position >> record->bytes_log2 >= ranges_per_site) coarsen(*record, position);
  // Lines are what is sampled, so halves of the lines are two independent samples.
  const std::uint64_t line = runtime.lines.ordinal(address);
  const std::uint64_t half = (line * 0xD6E8FEB86659FD93ull) >> 63;
  add(record->counts[half][static_cast<unsigned>(kind)][position >> record->bytes_log2],
      static_cast<std::uint32_t>(events));
}

void count_line_in_range(RangeCursor& cursor, std::uint32_t phase, std::uint16_t site,
                         std::uint64_t line, RangeKind kind) {
  if (space_of[site] != no_space)
    count_in_range(cursor, phase, site, runtime.lines.address(line), kind);
}

void unlock_ranges() { spaces_lock = records_lock = 0; }

}  // namespace nearfar::profile
