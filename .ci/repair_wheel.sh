#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# .ci/repair_wheel.sh WHEEL FOLDER: writes a wheel into FOLDER that brings the libraries
# it needs, but torch's, which are those of the torch that is installed.
set -euo pipefail

case $(uname) in
  Linux)
    auditwheel repair --exclude 'libtorch*' --exclude 'libc10*' --wheel-dir "$2" "$1"
    ;;
  Darwin)
    delocate-wheel --exclude libtorch --exclude libc10 --ignore-missing-dependencies \
      --wheel-dir "$2" "$1"
    ;;
  *)
    echo "wheel: $(uname) has no tool here that puts libraries into a wheel" >&2
    exit 1
    ;;
esac
