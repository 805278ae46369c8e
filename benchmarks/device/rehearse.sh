#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/device/rehearse.sh DIR [OPTION...]: runs run.sh here as on a machine with a
# GPU, as far as that can be tried without one; the options are run.sh's.
#
# In DIR: packages/ (prepare.sh's), machine/ (an environment with what that machine has:
# torch, NumPy, pytest, CMake, ninja, pybind11, scikit-build-core), tree/ (a copy of the
# tree, without what git ignores), out/ (what came out). run.sh gets neither a network
# nor git, nor the installed simdjson, ISA-L and protozero: they are hidden in namespaces of its
# own, which takes root. PYTHON, TORCH_SPEC and TORCH_INDEX are the Makefile's; nearest to
# that machine comes PYTHON=python3.12 TORCH_SPEC=torch==2.11.0, several gigabytes.
set -euo pipefail

if (($# < 1)) || [[ $1 == -* || -z $1 ]]; then
  echo "usage: rehearse.sh DIR [OPTION of run.sh...]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
unshare --net --mount true 2>/dev/null || {
  echo "rehearse.sh: needs the right to unshare the network and mounts (root)" >&2
  exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
if [[ $folder/ == "$root"/* ]] && ! git -C "$root" check-ignore -q "$folder"; then
  echo "rehearse.sh: $folder is in the tree, and would be copied with it" >&2
  exit 2
fi

python=${PYTHON:-python3}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$here/prepare.sh" "$folder/packages" "$version"
spec=${TORCH_SPEC:-torch==2.13.0}
if [[ $(cat "$folder/machine/made" 2>/dev/null) != "$version $spec" ]]; then
  echo "rehearsal: making an environment with $spec"
  "$python" -m venv "$folder/machine"
  install=("$folder/machine/bin/pip" install --quiet --quiet --disable-pip-version-check)
  "${install[@]}" "$spec" ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}
  "${install[@]}" numpy pytest cmake ninja 'pybind11>=3' scikit-build-core
  echo "$version $spec" >"$folder/machine/made"
fi
mkdir -p "$folder/tree"
find "$folder/tree" -mindepth 1 -maxdepth 1 -not -name build -exec rm -rf {} +
# Files that were removed and not committed are listed too.
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do
    [[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"
  done |
  xargs -0 cp --no-dereference --preserve=timestamps --parents \
    --target-directory "$folder/tree")
taken=$(du -s --block-size=1M --exclude=build --total "$folder/tree" "$folder/packages" |
  awk 'END {print $1}')
echo "rehearsal: tree and packages take $taken MB (at most 60)"
((taken <= 60)) || { echo "rehearse.sh: that is too much" >&2 && exit 1; }
rm -rf "$folder/out"

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
  hide /usr/bin/git /usr/include/protozero /usr/include/simdjson.h /usr/include/isa-l.h /usr/include/isa-l \
    /usr/lib/*/cmake/simdjson /usr/lib/*/lib{simdjson,isal}.so*
  if timeout 3 bash -c 'true >/dev/tcp/127.0.0.1/9' 2>/dev/null; then
    echo "rehearsal: there is a network" >&2
    exit 1
  fi
  cd "$folder/tree"
  exec env -i GIT_CEILING_DIRECTORIES="$folder" HOME="$folder" TERM=dumb LANG=C.UTF-8 ${CCACHE_DIR:+CCACHE_DIR="$CCACHE_DIR"} \
    ${CCACHE_DISABLE:+CCACHE_DISABLE="$CCACHE_DISABLE"} \
    PATH="$folder/machine/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
    benchmarks/device/run.sh --device cpu --packages "$folder/packages" \
    --out "$folder/out" "$@"
}
export folder
export -f hide bare
exec unshare --net --mount bash -euo pipefail -c 'bare "$@"' bare "$@"
