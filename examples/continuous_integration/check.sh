#!/usr/bin/env bash
# Builds the program, profiles it, and fails if it misses more, or takes more memory, than the
# baseline. Exit code 1: worse by more than LIMIT; the page and the JUnit file say where.
set -euo pipefail
cd "$(dirname "$0")"
out=${OUT:-build}
mkdir -p "$out"

# -g: objects and lines have names. The cache is fixed, so that any machine counts the same misses.
nearfar c++ -O2 -g ${FLAGS:-} -o "$out/lookup" lookup.cpp
nearfar profile --quiet --llc 2MiB --ways 16 --repetitions 1 -o "$out/profile.json" -- "$out/lookup" >"$out/output"

if [ "${1:-}" = accept ]; then
  cp "$out/profile.json" baseline/profile.json
  exit
fi
nearfar compare baseline/profile.json "$out/profile.json" --fail-over "${LIMIT:-5%}" \
  --junit "$out/nearfar.xml" --html "$out/nearfar.html"
