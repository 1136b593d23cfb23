// The nearfar pass, which makes a program report its memory accesses. Glossary:
//
// access   one load or store of the program; a group is a few of them, tested together
// site     a group's entry in the module's table: function, file, line, class (abi.h)
// filter   the inline test whether an address lies in a sampled line
// stream   a group whose address advances by a constant in its innermost loop; it is taken out of
//          the loop's body: the loop counts down to the next sampled line (abi.h, nf_loop)
// range    bytes touched in order by memcpy and the like
// cold     code that runs once in about 64 accesses; everything else must stay fast
#pragma once

namespace nearfar::pass {

struct Options {
  unsigned rate_log2 = 6;  // one line in 2^6 is sampled: one of every page
  bool loops = true;       // whether streams are taken out of loops

  // At rate 1 every access calls, nothing merged: the simulation others are judged against.
  bool every_access() const { return rate_log2 == 0; }
};

// Reads NEARFAR_RATE_LOG2 and NEARFAR_LOOPS, which the driver sets: clang reads -mllvm options
// before it loads a pass plugin.
Options read_options();

}  // namespace nearfar::pass
