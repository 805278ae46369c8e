# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory: what the detector learned from, and how it and the rules are judged.

``corpus`` makes labeled traces, ``detector`` compares detectors on them, ``blame``
simulates programs whose truth is known, ``explain`` asks who names a pattern right.
``_lab`` is an extension module of its own, over the same static libraries as the
package's: it puts anti-patterns into recorded traces. The dev build makes it.
"""
