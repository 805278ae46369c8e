#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# .ci/wheel_libraries.sh PREFIX: installs the library that cibuildwheel's machines lack:
# a static ISA-L, one release pinned by hash. (CMake fetches simdjson, also pinned.)
set -euo pipefail

prefix=$1
[[ ! -e $prefix/lib/libisal.a ]] || exit 0 # already installed
version=2.32.1
sha256=d9f7179ab0e14a3db9b610fac22793854a1435e8423ec9ce07f4cbedc5f92f5e
url=https://github.com/intel/isa-l/archive/refs/tags/v$version.tar.gz

case $(uname) in
  Linux) # manylinux_2_28 is AlmaLinux 8, which has nasm in a repository of its own
    dnf install -y -q --enablerepo=powertools autoconf automake libtool nasm zlib-devel
    ;;
  Darwin) # llvm: Apple's standard library lacks std::jthread and from_chars of doubles
    brew install --quiet autoconf automake libtool nasm llvm
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! curl --fail --silent --show-error --location --retry 3 -o "$work/isal.tar.gz" "$url"
then
  echo "wheel: cannot download $url." >&2
  echo "wheel: without ISA-L, gzip is read with zlib, at a third of the speed. For" >&2
  echo "wheel: a release, put a static ISA-L into $prefix/lib and $prefix/include" >&2
  exit 1
fi
cd "$work"
python3 - "$sha256" <<'PYTHON'
import hashlib, sys
found = hashlib.sha256(open("isal.tar.gz", "rb").read()).hexdigest()
if found != sys.argv[1]:
    raise SystemExit(f"wheel: isal.tar.gz has the hash {found}, not {sys.argv[1]}")
PYTHON
tar xzf isal.tar.gz
cd "isa-l-$version"
./autogen.sh
./configure --quiet --disable-shared --with-pic --prefix="$prefix"
make -j4 install
