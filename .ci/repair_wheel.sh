#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# .ci/repair_wheel.sh WHEEL FOLDER: writes a wheel into FOLDER that includes the
# libraries it needs, except torch's: it uses those of the installed torch.
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
    echo "wheel: adding libraries to a wheel is not supported on $(uname)" >&2
    exit 1
    ;;
esac
