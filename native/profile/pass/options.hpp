// The nearfar pass, which makes a program report its memory accesses. Glossary:
//
//  access   a load or store of the program; a group is a few of them, tested together
//  site     a group's entry in the module's table: function, file, line, class (abi.h)
//  filter   the inline test whether an address is in a sampled line
//  stream   a group whose address advances by a constant in its innermost loop. It is hoisted: the
//  loop
//           counts down to the next sampled line instead (abi.h, nf_loop)
//  range    bytes touched in order by memcpy and similar functions
//  cold     code that runs once in about 64 accesses; all other code must stay fast
#pragma once

namespace nearfar::pass {

struct Options {
  unsigned rate_log2 = 6;   // one line in 2^6 is sampled: one per page
  bool loops = true;        // whether streams are hoisted out of loops
  bool only_lines = false;  // whether to keep only the line tables of the debug information

  // At rate 1, every access calls the runtime and nothing is merged: the reference for other rates.
  bool every_access() const { return rate_log2 == 0; }
};

// Reads NEARFAR_RATE_LOG2, NEARFAR_LOOPS and NEARFAR_ONLY_LINES, set by the driver: clang parses
// -mllvm options before it loads a pass plugin.
Options read_options();

}  // namespace nearfar::pass
