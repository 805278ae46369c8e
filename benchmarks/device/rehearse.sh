#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/device/rehearse.sh DIR [OPTION...]: runs run.sh here as on a machine with a
# GPU, as far as that can be tried without one; the options are run.sh's.
#
# In DIR: packages/ (prepare.sh's), machine/ (an environment with what that machine has:
# torch, NumPy, pytest, CMake, ninja, pybind11, scikit-build-core), tree/ (a copy of the
# tree, without what git ignores), out/ (what came out). run.sh gets neither a network
# nor the installed simdjson and ISA-L: both are hidden in namespaces of its own, which
# takes root. TORCH_SPEC and TORCH_INDEX are the Makefile's.
set -euo pipefail

(($# >= 1)) || { echo "usage: rehearse.sh DIR [OPTION...]" >&2 && exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
unshare --net --mount true 2>/dev/null || {
  echo "rehearse.sh: needs the right to unshare the network and mounts (root)" >&2
  exit 2
}

python=${PYTHON:-python3}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [[ ! -e $folder/packages/contents.txt ]]; then
  "$here/prepare.sh" "$folder/packages" "$version"
fi
if [[ ! -e $folder/machine/made ]]; then
  "$python" -m venv "$folder/machine"
  install=("$folder/machine/bin/pip" install --quiet --quiet --disable-pip-version-check)
  "${install[@]}" "${TORCH_SPEC:-torch==2.13.0}" ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}
  "${install[@]}" numpy pytest cmake ninja 'pybind11>=3' scikit-build-core
  touch "$folder/machine/made"
fi
mkdir -p "$folder/tree"
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
  xargs -0 ls -d 2>/dev/null | tr '\n' '\0' |
  xargs -0 cp --no-dereference --parents --target-directory "$folder/tree")
taken=$(du -s --block-size=1M --exclude=build --total "$folder/tree" "$folder/packages" |
  awk 'END {print $1}')
echo "rehearsal: tree and packages take $taken MB (at most 60)"
((taken <= 60))

# --- As on that machine ----------------------------------------------------------
hide() { # FILE...: what compilers and linkers find there is nothing
  local file
  for file in "$@"; do
    if [[ -d $file ]]; then
      mount -t tmpfs none "$file"
    elif [[ -e $file ]]; then
      mount --bind /dev/null "$(readlink -f "$file")"
    fi
  done
}
bare() {
  hide /usr/include/simdjson.h /usr/include/isa-l.h /usr/include/isa-l \
    /usr/lib/*/cmake/simdjson /usr/lib/*/lib{simdjson,isal}.so*
  if timeout 3 bash -c 'true >/dev/tcp/127.0.0.1/9' 2>/dev/null; then
    echo "rehearsal: there is a network" >&2
    exit 1
  fi
  cd "$folder/tree"
  exec env -i HOME="$folder" TERM=dumb LANG=C.UTF-8 ${CCACHE_DIR:+CCACHE_DIR="$CCACHE_DIR"} \
    ${CCACHE_DISABLE:+CCACHE_DISABLE="$CCACHE_DISABLE"} \
    PATH="$folder/machine/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
    benchmarks/device/run.sh --device cpu --packages "$folder/packages" \
    --out "$folder/out" "$@"
}
export folder
export -f hide bare
unshare --net --mount bash -euo pipefail -c 'bare "$@"' bare "$@"
