// SPDX-License-Identifier: BSD-3-Clause
// write/copy_text.h: a trace's text again, with more events in its list.
#pragma once

#include <functional>
#include <ostream>

#include "trace/trace.h"

namespace tta::write {

/// Tells whether the text a trace was read from is a sound document with a closed list
/// of events. A recovered one is none, nor is a list left open.
bool has_whole_text(const trace::Trace& trace);

/// Copies that text byte for byte, but for values that are no JSON (NaN, 007), which
/// become null. Before the list of events is closed it calls `insert`, telling whether
/// the list is empty. In pieces of 256 KiB; with such values, in memory as a whole.
///
/// Throws what Trace::visit_args throws, std::invalid_argument if there is no whole
/// text, and what `insert` and the stream throw.
void copy_text(const trace::Trace& trace, std::ostream& out,
               const std::function<void(bool)>& insert);

}  // namespace tta::write
