// SPDX-License-Identifier: BSD-3-Clause
// trace/dialect.h: what torch's newer writers say in other words than Kineto.
//
// Cuspy (torch 2.15, beside Kineto) calls each copy "Memcpy" and has the rest of
// Kineto's name in args. Names are made Kineto's as events are read, so that nothing
// else knows of two forms. Streams that torch moved for display, as Cuspy's lanes and
// export_chrome_trace(graph_lanes="all") are, are moved back there too: EventReader.
#pragma once

#include <string>
#include <string_view>

namespace tta::trace {

/// Raw JSON values of args; "" if the event has none.
struct CopyWords {
  std::string_view kind;    ///< "copy kind": "HtoD", or CUPTI's number.
  std::string_view source;  ///< "src kind": "pageable", ...
  std::string_view target;  ///< "dst kind".
  std::string_view memory;  ///< "memory kind" of a set: CUPTI's number.
};

/// Returns Kineto's name, "Memcpy HtoD (Pageable -> Device)" or "Memset (Device)", of
/// an event that Cuspy calls "Memcpy" or "Memset"; "" if it is none.
std::string kineto_name(std::string_view name, const CopyWords& words);

}  // namespace tta::trace
