# SPDX-License-Identifier: BSD-3-Clause
"""The lab: training data of the detector, and the evaluation of detector and rules.

``corpus`` makes labeled traces, ``detector`` compares detectors on them, ``blame``
simulates programs whose truth is known, ``explain`` scores the naming of patterns.
``_lab`` is an extension module of its own, over the same static libraries as the
package's: it puts anti-patterns into recorded traces. The dev build makes it.
"""
