# SPDX-License-Identifier: BSD-3-Clause
"""service: analyses over HTTP (docs/serve.md).

The server receives and answers; traces are read in child processes only.
"""
