# SPDX-License-Identifier: BSD-3-Clause
"""recording_lock.py: one thread at a time works out and writes down an operator.

Held for one operator, or one call of the facade, and never while the program's own code
runs (but for kernels of its own operators), so it waits for no lock of the program.
"""

from __future__ import annotations

import os
import threading

#: One for all runs: there is one at a time.
LOCK = threading.RLock()

if hasattr(os, "register_at_fork"):
    # Else a child would inherit it as another thread held it, and wait for ever.
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )
