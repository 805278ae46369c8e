// SPDX-License-Identifier: BSD-3-Clause
// timeline/arg_keys.h: which keys of an event's args hold what.
#pragma once

#include <string_view>

#include "timeline/event_args.h"

namespace tta::timeline {

/// The key of a thread's name, in the args of its "thread_name" row.
inline constexpr std::string_view kThreadName = "name";

/// Fills a field that is still unknown from one member of the args of device work, or
/// of the call that launched it. Invalid numbers stay unknown.
void read_work(std::string_view key, std::string_view value, WorkArgs& out);

/// The same of a collective's operator or kernel.
void read_collective(std::string_view key, std::string_view value, CollectiveArgs& out);

/// The same of an operator's inputs. A key that comes again replaces what it said.
void read_op(std::string_view key, std::string_view value, OpArgs& out);

}  // namespace tta::timeline
