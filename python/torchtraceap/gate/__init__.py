# SPDX-License-Identifier: BSD-3-Clause
"""What CI needs: budgets judged, reports compared, and both written in its forms."""
