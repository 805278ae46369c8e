#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# .ci/setup.sh VENV build|verify|clang: installs missing system packages, creates VENV.
#
# "build" is for the compiler and the everyday tests, "verify" for a browser, "clang"
# for clang and its libFuzzer. The compiler and Python are asked what is installed, not
# the package manager, so headers under another prefix and your own Python count too.
set -euo pipefail

venv=$1
python=${PYTHON:-python3}
missing=()

# need PACKAGE COMMAND...: notes the Debian package unless the command succeeds.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}

has_header() { echo "#include <$1>" | g++ -fsyntax-only -x c++ -; }
has_python_header() {
  "$python" -c 'import os, sysconfig
raise SystemExit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))'
}
has_libfuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++-14 -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null
}

case $2 in
  build)
    need g++ g++ --version
    need ccache ccache --version
    need libsimdjson-dev has_header simdjson.h
    need libisal-dev has_header isa-l/igzip_lib.h
    need zlib1g-dev has_header zlib.h
    need libprotozero-dev has_header protozero/pbf_message.hpp
    need libgtest-dev has_header gtest/gtest.h
    need python3 "$python" --version
    need python3-venv "$python" -c 'import ensurepip, venv'
    need python3-dev has_python_header
    ;;
  verify) # on systems other than Debian, the browser tests are skipped
    need chromium chromium --version
    need chromium-driver chromedriver --version
    ;;
  clang)
    need clang-14 clang++-14 --version
    need libclang-rt-14-dev has_libfuzzer
    ;;
esac

if ((${#missing[@]})); then
  install="apt-get install -y --no-install-recommends ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    echo "setup: missing (by their Debian names): ${missing[*]}" >&2
    echo "setup: install them with your package manager and run make again" >&2
    exit 1
  elif ((EUID == 0)); then
    sudo=
  elif sudo -n true 2>/dev/null; then
    sudo=sudo
  else
    echo "setup: system packages are missing, and installing them needs root. Run" >&2
    echo "    sudo apt-get update && sudo $install" >&2
    echo "and then make again" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  if ! { $sudo apt-get update -qq && $sudo $install -qq; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
  rm "$log"
fi

if ! "$python" -c 'import sys; raise SystemExit(sys.version_info < (3, 10))'; then
  echo "setup: $python is older than 3.10; run make again with PYTHON=<a newer one>" >&2
  exit 1
fi
[[ -x $venv/bin/python ]] || { echo "setup: making .venv" && "$python" -m venv "$venv"; }
