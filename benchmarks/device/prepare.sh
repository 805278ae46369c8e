#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/device/prepare.sh DIR [PYTHON]: fills DIR with all that run.sh needs on a
# machine that can install nothing: simdjson, ISA-L, protozero and zlib out of Debian's
# packages, and wheels for PYTHON (3.12). Needs Debian on x86-64, apt-get and pip with
# registries.
#
# DIR/usr is a prefix for CMake, DIR/wheels a folder for pip. Debian builds neither
# simdjson nor ISA-L as a static library, so the shared ones are taken; build.sh links
# with a path to them. What DIR held before is removed.
set -euo pipefail

python_version=${2:-3.12}
if (($# < 1 || $# > 2)) || [[ $1 == -* || -z $1 || ! $python_version =~ ^3\.[0-9]+$ ]]
then
  echo "usage: prepare.sh DIR [PYTHON], as in: prepare.sh build/device-packages 3.12" >&2
  exit 2
fi
if [[ $(uname -m) != x86_64 ]] || ! { command -v apt-get && command -v dpkg-deb; } >/dev/null
then
  echo "prepare.sh: needs apt-get and dpkg-deb on x86-64" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
final=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=$work/made

# --- Libraries -------------------------------------------------------------------
debian=(libsimdjson-dev libisal-dev libprotozero-dev zlib1g zlib1g-dev)
debian+=($(apt-cache depends --important libsimdjson-dev libisal-dev |
  awk '/Depends: lib(simdjson|isal)/ {print $2}'))
(cd "$work" && apt-get download --quiet --quiet -o APT::Sandbox::User=root "${debian[@]}")
for package in "$work"/*.deb; do dpkg-deb --extract "$package" "$work/debian"; done
folder=usr/lib/x86_64-linux-gnu
mkdir -p "$target/usr/include" "$target/$folder"
cp -r "$work"/debian/usr/include/. "$target/usr/include"
cp -r "$work/debian/$folder/cmake" "$target/$folder"
# zlib's own library lies in /lib, and its link leads there by an absolute path.
cp -P "$work"/debian/lib/x86_64-linux-gnu/libz.so.* "$target/$folder"
cp -P "$work/debian/$folder"/lib{simdjson,isal}.so* "$target/$folder"
ln -sf libz.so.1 "$target/$folder/libz.so"

# --- Wheels ----------------------------------------------------------------------
# What the package and its tests import beyond torch, NumPy and pytest, and what builds
# it, should the machine's be too old.
wheels=(executing jinja2 markupsafe rich markdown-it-py mdurl pygments pytest-timeout
  'pybind11>=3' 'scikit-build-core>=0.11' pathspec packaging)
platforms=()
for glibc in 17 24 27 28; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
python3 -m pip download --quiet --quiet --disable-pip-version-check --no-deps \
  --only-binary=:all: --implementation cp --python-version "$python_version" \
  "${platforms[@]}" --platform manylinux2014_x86_64 --dest "$target/wheels" \
  "${wheels[@]}"

{
  # The tree may come without its history.
  echo "tree: $(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)" \
    "$(git -C "$here" status --porcelain 2>/dev/null | wc -l) files changed"
  echo "for CPython $python_version on x86-64"
  (cd "$work" && for package in *.deb; do dpkg-deb --show "$package"; done)
  (cd "$target/wheels" && ls)
} >"$target/contents.txt"
rm -rf "$final/usr" "$final/wheels" "$final/contents.txt"
mv "$target/usr" "$target/wheels" "$target/contents.txt" "$final" # contents.txt last
du -sh "$final" | awk '{print "prepared: " $1 " in " $2}'
