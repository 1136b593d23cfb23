#!/usr/bin/env bash
# Installs what is missing, makes .venv and builds nearfar into it.
#   scripts/setup.sh core   what the demo needs
#   scripts/setup.sh run    and what records under QEMU, `crash` and the companions
#   scripts/setup.sh test   and what the tests need
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-run}
optional=qemu-user

# package=the command or file that shows it is there: why it is wanted
wanted=(
  "g++=g++:builds the native core"
  "cmake=cmake:builds the native core"
  "ninja-build=ninja:builds the native core"
  "git=git:names the commit in results"
  "python3-venv=python3 -c 'import venv, ensurepip':makes .venv"
  "python3-dev=python3 -c 'import sysconfig, os, sys; sys.exit(not os.path.exists(sysconfig.get_path(\"include\") + \"/Python.h\"))':builds the native core's bindings"
  "clang-16=clang-16:compiles the programs to be profiled"
  "llvm-16-dev=llvm-config-16:builds the compiler pass"
  "binutils=objcopy:puts the plain build inside the instrumented one"
  "dpkg-dev=dpkg-source:unpacks the demo's Debian source"
  "openssl=openssl:makes the certificates of a sweep's workers"
  "libjemalloc-dev=ls /usr/include/jemalloc/jemalloc.h:is the allocator of nearfar run"
)
if [ "$what" != core ]; then
  wanted+=("$optional=qemu-x86_64:profiles programs that were not rebuilt")
fi
if [ "$what" = test ]; then
  wanted+=(
    "doctest-dev=ls /usr/include/doctest/doctest.h:runs the native tests"
    "chromium=chromium:tests the report in a browser"
    "valgrind=valgrind:is the peer that tracing is measured against"
    "clang-format-16=clang-format-16:checks formatting"
    "clang-tidy-16=clang-tidy-16:checks the native code"
    "tcl=tclsh:runs Redis' own test suite"
    "tcl-dev=ls /usr/include/tcl*/tcl.h:builds SQLite's own test suite"
    "libpmem-dev=ls /usr/include/libpmem.h:is what nearfar crash is tested with"
    "libpmemobj-dev=ls /usr/include/libpmemobj.h:is what nearfar crash is tested with"
    "liblmdb-dev=ls /usr/include/lmdb.h:is what nearfar crash is tested with"
    "libleveldb-dev=ls /usr/include/leveldb/c.h:is what nearfar crash is tested with"
    "librocksdb-dev=ls /usr/include/rocksdb/c.h:is what nearfar crash is tested with"
    "redis-tools=redis-cli:is what nearfar crash is tested with"
    "likwid=likwid-bench:is the peer that bandwidth is measured against"
    "qemu-system-x86=qemu-system-x86_64:boots the machine that has far memory"
    "cpio=cpio:packs that machine's first file system"
    "kmod=ls /usr/sbin/depmod:lists that machine's modules"
    "busybox-static=busybox:is that machine's shell"
    "e2fsprogs=ls /usr/sbin/mkfs.ext4:makes that machine's disks"
    "ndctl=ndctl:makes namespaces there, and lists CXL"
    "daxctl=daxctl:makes nodes there"
    "numactl=numactl:shows nodes there"
  )
fi

missing=()
for entry in "${wanted[@]}"; do
  package=${entry%%=*}; rest=${entry#*=}; check=${rest%:*}; why=${rest##*:}
  case "$check" in
    *" "*) eval "$check" >/dev/null 2>&1 && continue ;;
    *) command -v "$check" >/dev/null 2>&1 && continue ;;
  esac
  missing+=("$package")
  echo "nearfar set-up: $package is missing; it $why"
done
if [ ${#missing[@]} -gt 0 ]; then
  command="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" = 0 ]; then sudo=""
  elif sudo -n true 2>/dev/null; then sudo="sudo -n"
  else
    echo "nearfar set-up: not root here; run this once, then again what you ran:"
    echo "  sudo sh -c '$command'"
    [ "$what ${missing[*]}" = "run $optional" ] || exit 3
    echo "nearfar set-up: going on without $optional"
    missing=()
  fi
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "nearfar set-up: installing ${missing[*]}"
  mkdir -p build
  DEBIAN_FRONTEND=noninteractive $sudo sh -c "$command" >build/apt.log 2>&1 || {
    tail -5 build/apt.log
    echo "nearfar set-up: the packages could not be installed; the whole log is build/apt.log"
    exit 3
  }
fi

mkdir -p build
exec 9>build/.set-up.lock
flock 9
[ -x .venv/bin/python ] || { echo "nearfar set-up: making .venv"; python3 -m venv .venv; }
pip() { .venv/bin/python -m pip --disable-pip-version-check -q "$@"; }
if ! .venv/bin/python -c 'import nanobind, scikit_build_core' 2>/dev/null; then
  echo "nearfar set-up: installing Python packages into .venv"
  pip install "scikit-build-core>=0.11" "nanobind>=2.4"
fi
tests=OFF
[ "$what" = test ] && tests=ON
.venv/bin/python scripts/companion_extras.py "$what" >build/requirements.txt
# In a new .venv, packages are installed while the native core is built. The modules of their own
# tests are not compiled.
packages() {
  pip install --no-compile --no-warn-conflicts -r build/requirements.txt
  .venv/bin/python -m compileall -q -x 'site-packages/.*/tests?/' .venv/lib/python3*/site-packages
}
packages=
if ! .venv/bin/python -c 'import duckdb, scipy' 2>/dev/null; then
  packages >build/packages.log 2>&1 &
  packages=$!
  trap 'kill $packages 2>/dev/null || true' EXIT
fi
# A tree that has all parts keeps them.
[ "$what" = core ] && [ ! -e .venv/.set-up ] && export NEARFAR_DEMO_ONLY=1
build() {
  pip install --no-build-isolation --no-deps "$@" \
    --config-settings cmake.define.NEARFAR_TESTS=$tests \
    --config-settings cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON
}
echo "nearfar set-up: building the core"
build -e .
if [ -z "$packages" ] || ! wait "$packages"; then
  pip install -r build/requirements.txt
fi
# As installed packages are: else every start compiles, where bytecode is not written.
.venv/bin/python -m compileall -q nearfar companions
[ "$what" = core ] && exit 0
echo "nearfar set-up: building the companions"
build -e companions/bench
pip install --no-build-isolation --no-deps -e companions/imports -e companions/like \
  -e companions/studies
