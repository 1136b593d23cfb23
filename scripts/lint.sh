#!/usr/bin/env bash
# ruff, mypy strict, order of imports, dead code, words, clang-format, clang-tidy. Prints the command
# that fixes what it finds.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/ruff check .
.venv/bin/ruff format --check . || { echo "fix with: make format"; exit 1; }
.venv/bin/mypy
.venv/bin/lint-imports --no-logo || exit 1
.venv/bin/python scripts/layers.py --check
.venv/bin/python scripts/check_commits.py
# Attributes and variables are read by JSON, cffi and other libraries; the rest must have a user.
unused=$(.venv/bin/vulture) || [ $? = 3 ]  # 3: it found dead code; anything else: it did not run
if grep -E 'unused (class|function|import|method|property)' <<<"$unused"; then exit 1; fi
.venv/bin/python scripts/check_house.py
native=$(git ls-files 'native/**.cpp' 'native/**.hpp' 'include/**.h' 'tests/native/**.cpp' \
  'companions/**.cpp' 'companions/**.hpp')
# shellcheck disable=SC2086
clang-format-16 --dry-run -Werror $native || { echo "fix with: make format"; exit 1; }
# tidy BUILD PATTERN...: runs clang-tidy on sources with the compile commands of a build.
tidy() {
  database=$1; shift
  [ -f "$database/compile_commands.json" ] || return 0
  git ls-files "$@" | xargs -r -P "$(nproc)" -n 4 clang-tidy-16 -p "$database" --quiet
}
# clang-tidy needs a command for each file, so a build of files in batches has none for it.
cmake -S . -B build/tidy -DNEARFAR_BATCHES=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DPython_EXECUTABLE="$PWD/.venv/bin/python" >build/tidy.log || { cat build/tidy.log; exit 1; }
# The pass is checked by clang's own warnings: its headers need LLVM's flags.
tidy build/tidy 'native/sim/**.cpp' 'native/fleet/**.cpp' 'native/measure/**.cpp' 'native/profile/runtime/**.cpp' \
  'native/profile/qemu/**.cpp' 'native/profile/counters/**.cpp' 'native/run/**.cpp' 'native/crash/**.cpp'
tidy build/bench 'companions/bench/native/**.cpp'
