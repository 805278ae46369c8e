#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/device/build.sh PACKAGES SITE: builds the package as it is shipped and
# installs it into the folder SITE, with nothing from a network; PACKAGES is what
# prepare.sh made. SITE is for PYTHONPATH; objects stay in build/device.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
packages=$(cd "$1" && pwd)
mkdir -p "$2"
site=$(cd "$2" && pwd)
export PYTHONPATH=$site PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
install=(python3 -m pip --isolated install --no-index --no-deps --no-compile --upgrade
  --no-warn-conflicts --target "$site")
rm -rf "$site"/torchtraceap* # should this build fail, no step may use an older one
"${install[@]}" --quiet "$packages"/wheels/*.whl
# A prefix of our own, so that a half installed library elsewhere is not mixed in.
"${install[@]}" --verbose --no-build-isolation "$root" \
  --config-settings=build-dir="$root/build/device" \
  --config-settings=cmake.define.CMAKE_PREFIX_PATH="$packages/usr" \
  --config-settings=cmake.define.CMAKE_BUILD_RPATH="$packages/usr/lib/x86_64-linux-gnu" \
  --config-settings=cmake.define.CMAKE_INSTALL_RPATH="$packages/usr/lib/x86_64-linux-gnu" \
  --config-settings=cmake.define.TTA_BUILD_TORCH=ON \
  --config-settings=cmake.define.TTA_BINDINGS_TOGETHER=$(($(nproc) < 8 ? 4 : 1))
cd / # not the tree's own python/, which another build may have filled
python3 -c '
import torchtraceap, torchtraceap._core as core
from torchtraceap.base.torch_module import load_torch_module
print("built: torchtraceap", torchtraceap.__version__, "for torch",
      core.built_for_torch(), "and", load_torch_module().__name__)'
