// SPDX-License-Identifier: BSD-3-Clause
// trace/order.h: one order of rows, whatever the order of events in the file.
//
// Kineto writes buffer by buffer, other tools sort, merge or append. An analysis that
// breaks a tie by the row's number would depend on that, so rows are ordered once,
// before anything reads them.
#pragma once

#include "trace/trace.h"

namespace tta::trace {

/// Orders the rows by their start; of those that start together the longer comes first,
/// then the outer kind (a Python frame, an annotation, an operator, a call), then by
/// process, thread, device, stream, name, and all other columns. Rows without a start
/// (metadata) come first. Rows that agree in every column and in the args that are kept
/// stay in file order. Ids of names count from 0 in order of the rows.
///
/// O(n log r) for rows in r ascending runs; takes up to 24 bytes a row meanwhile. Not
/// for a trace that others read already: row numbers change.
void order_rows(Trace& trace);

/// Returns 0 for a kind of event that encloses the others where they start and end
/// together, up to 3: an annotation or a Python frame encloses the operator that fills
/// it, an operator its runtime call.
int depth_rank(Category category);

}  // namespace tta::trace
