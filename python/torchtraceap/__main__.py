# SPDX-License-Identifier: BSD-3-Clause
"""__main__.py: makes ``python -m torchtraceap`` the program ``torchtraceap``."""

from torchtraceap.cli import console

if __name__ == "__main__":
    raise SystemExit(console())
