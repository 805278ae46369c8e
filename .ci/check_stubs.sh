#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# .ci/check_stubs.sh [--write]: compares the committed stubs of the extension modules
# with pybind11-stubgen's output for the built ones; --write replaces them.
set -euo pipefail
cd "$(dirname "$0")/.."

package=python/torchtraceap
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
stale=0

# generate MODULE: writes $fresh/torchtraceap/MODULE.pyi, formatted as the tree is.
generate() {
  local stub=$fresh/torchtraceap/$1.pyi
  python - "torchtraceap.$1" "$fresh" >"$fresh/log" 2>&1 <<'PYTHON' || { cat "$fresh/log" >&2; exit 1; }
import sys

from pybind11_stubgen import main

module, folder = sys.argv[1:]
main([module, "--output-dir", folder])
PYTHON
  # pybind11-stubgen knows pybind11's own enums, but not those of native_enum: members
  # of an enum.Enum have no annotation, and its __new__ is that of the base class.
  sed -i -E -e 's/^(    \w+): typing\.ClassVar\[\w+\]$/\1 = .../' \
    -e '/^    @classmethod$/{N;/__new__\(cls, value\)/{N;d}}' "$stub"
  # The file is outside the tree, so ruff would not find the configuration.
  ruff check --quiet --fix --config pyproject.toml "$stub" || true
  ruff format --quiet --config pyproject.toml "$stub"
}

if ! python -c 'import sys; raise SystemExit(sys.version_info < (3, 11))'; then
  echo "stubs: Python 3.10 describes enums differently; skipped"
  exit 0
fi
for module in _core _torch; do
  if ! compgen -G "$package/$module.*.so" >/dev/null; then
    echo "stubs: $module is not built; run 'make build'" >&2
    exit 1
  fi
  generate "$module"
  if [[ ${1:-} == --write ]]; then
    cp "$fresh/torchtraceap/$module.pyi" "$package/$module.pyi"
    echo "stubs: wrote $package/$module.pyi"
  elif ! diff -u "$package/$module.pyi" "$fresh/torchtraceap/$module.pyi"; then
    stale=1
  fi
done
if ((stale)); then
  echo "stubs: out of date; run 'make stubs' and commit" >&2
  exit 1
fi
python .ci/write_schema.py "$@"
[[ ${1:-} == --write ]] || echo "stubs: up to date"
