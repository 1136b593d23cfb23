// What of a change a structure makes safe. The study compares them; everything else is `safe`.
#pragma once

namespace nearfar::bench {

enum class Safety {
  safe,       // a change is one transaction that can restore whatever it overwrites
  unlogged,   // WRONG on purpose: the same transaction without its snapshots, so links that it
              // overwrites are neither restored nor flushed
  published,  // WRONG on purpose: the steps of the published programs, in their order
};

// Overwrites a link within a transaction, with a snapshot of it unless that is left out.
template <Safety safety, typename Memory, typename Ref>
void link(Memory& memory, Ref& place, Ref to) {
  if constexpr (safety == Safety::unlogged) {
    place = to;
  } else {
    memory.change(place, to);
  }
}

}  // namespace nearfar::bench
