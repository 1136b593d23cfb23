// How safe a structure's changes are. The study compares them; all other uses are `safe`.
#pragma once

namespace nearfar::bench {

enum class Safety {
  safe,       // a change is a transaction that can restore everything it overwrites
  unlogged,   // WRONG on purpose: the same transaction without snapshots, so overwritten links are
              // neither restored nor flushed
  published,  // WRONG on purpose: the steps of the published programs
};

// Overwrites a link within a transaction, with a snapshot unless `unlogged`.
template <Safety safety, typename Memory, typename Ref>
void link(Memory& memory, Ref& field, Ref to) {
  if constexpr (safety == Safety::unlogged) {
    field = to;
  } else {
    memory.change(field, to);
  }
}

}  // namespace nearfar::bench
