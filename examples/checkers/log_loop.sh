#!/bin/sh
# A checker of the logs of examples/pitfalls that stays: sh log_loop.sh POOL judges one image;
# with NEARFAR_CRASH_LOOP it judges the image that each line names.
check() {
  od -An -v -w64 -t u4 "$1" | awk '
    NR == 1 && $2 != $1 * 64 { print "head: " $1 " entries, " $2 " bytes"; exit 1 }
    NR == 1 { entries = $1; next }
    NR > entries + 1 { exit 0 }
    { for (word = 1; word <= 16; word += 2) if ($word != NR - 1) wrong = 1 }
    wrong { print "entry " NR - 2 " of " entries " is incomplete"; exit 1 }'
}

if [ -z "$NEARFAR_CRASH_LOOP" ]; then
  check "$1"
  exit
fi
echo ready
while read -r pool done begun; do
  if check "$pool"; then echo accept; else echo refuse; fi
done
