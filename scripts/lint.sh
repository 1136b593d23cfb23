#!/usr/bin/env bash
# ruff, mypy strict, clang-format, clang-tidy; prints what mends what it finds.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/ruff check .
.venv/bin/ruff format --check . || { echo "mend with: make format"; exit 1; }
.venv/bin/mypy
native=$(git ls-files 'native/**.cpp' 'native/**.hpp' 'include/**.h' 'tests/native/**.cpp')
# shellcheck disable=SC2086
clang-format-16 --dry-run -Werror $native || { echo "mend with: make format"; exit 1; }
database=build/native
if [ -f $database/compile_commands.json ]; then
  # The pass is checked by clang's own warnings: its headers need LLVM's flags.
  git ls-files 'native/sim/**.cpp' 'native/measure/**.cpp' 'native/profile/runtime/**.cpp' \
    'native/profile/qemu/**.cpp' 'native/profile/counters/**.cpp' 'native/run/**.cpp' \
    'native/crash/**.cpp' 'native/bench/**.cpp' |
    xargs -r -P "$(nproc)" -n 4 clang-tidy-16 -p $database --quiet
fi
