# SPDX-License-Identifier: BSD-3-Clause
"""relabel.py: names the columns of a file of weights as this version does.

    python -m torchtraceap_train.relabel WEIGHTS [--out FILE]

Weights keep the names and versions of the columns, kinds and patterns that they were
trained on. This writes those of this version in their place and leaves all numbers as
they are: for weights from before names were kept, and for those of a column that was
renamed. It is right only if the columns, by number, are those of this version; a file
with another number of them is refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torchtraceap.base.errors import WeightsError
from torchtraceap.base.files import replacing
from torchtraceap.base.torch_module import load_torch_module


def relabel(weights: str, out: str) -> None:
    """Write ``weights``, named as in this version, to ``out``, which may be the same.

    Raises WeightsError if the file is none of weights or does not fit this version, and
    OSError if it cannot be written; then ``out`` stays as it is.
    """
    module = load_torch_module()
    with replacing(out) as new:
        module.relabel(weights, new)
        module.Model.load(new)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m torchtraceap_train.relabel", description=__doc__
    )
    parser.add_argument("weights")
    parser.add_argument("--out", help="the file to write; default: the same")
    given = parser.parse_args(arguments)
    try:
        relabel(given.weights, given.out or given.weights)
    except (WeightsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
