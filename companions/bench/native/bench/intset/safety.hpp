// What of a change a structure makes safe. The study compares them; everything else is `safe`.
#pragma once

namespace nearfar::bench {

enum class Safety {
  safe,       // a change is one transaction that can restore whatever it overwrites
  unlogged,   // WRONG on purpose: the same transaction without its snapshots, so links that it
              // overwrites are neither restored nor flushed
  published,  // WRONG on purpose: the steps of the published programs, in their order
};

}  // namespace nearfar::bench
