#include "anchor.hpp"

#include <llvm/ADT/DenseMap.h>

#include <algorithm>

using namespace llvm;

namespace nearfar::pass {

namespace {

// Maximum bytes that an anchor covers, one line. Twice as much would cause three times as many
// unnecessary calls.
constexpr std::int64_t max_reach_bytes = 64;

}  // namespace

Anchor* Anchors::shared_by(std::size_t group) {
  const std::size_t index = of_group[group];
  return index != none && all[index].members > 1 ? &all[index] : nullptr;
}

Anchors find_anchors(const std::vector<Group>& groups, const std::vector<bool>& taken,
                     const DominatorTree& dominators) {
  Anchors anchors;
  anchors.of_group.assign(groups.size(), Anchors::none);
  DenseMap<const SCEV*, SmallVector<std::size_t, 2>> by_base;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (taken[i]) continue;
    const Group& group = groups[i];
    if (group.high - group.low > max_reach_bytes) continue;
    auto& known = by_base[group.base];
    for (const std::size_t index : known) {
      Anchor& anchor = anchors.all[index];
      const std::int64_t low = std::min(anchor.low, group.low);
      const std::int64_t high = std::max(anchor.high, group.high);
      if (high - low > max_reach_bytes ||
          !dominators.dominates(groups[anchor.group].leader.instruction, group.leader.instruction))
        continue;
      anchor.low = low;
      anchor.high = high;
      ++anchor.members;
      anchors.of_group[i] = index;
      break;
    }
    if (anchors.of_group[i] != Anchors::none) continue;
    anchors.of_group[i] = anchors.all.size();
    known.push_back(anchors.all.size());
    anchors.all.push_back({i, group.low, group.high, 1});
  }
  return anchors;
}

}  // namespace nearfar::pass
