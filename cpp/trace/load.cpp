// SPDX-License-Identifier: BSD-3-Clause
// trace/load.cpp: source -> windows -> document -> columns.
#include <algorithm>
#include <limits>
#include <utility>

#include "trace/beginning.h"
#include "trace/document.h"
#include "trace/source.h"
#include "trace/windows.h"

namespace tta::trace {
namespace {

Trace load(std::shared_ptr<const Source> source, const LoadOptions& options) {
  Trace trace;
  trace.path = source->path();
  const std::unique_ptr<TextReader> reader = source->open();
  WindowReader windows(*reader, options.window_bytes);
  try {
    check_beginning(windows, trace.path);
    Document document(trace);
    std::size_t used = 0;
    for (bool last = false; !last;) {
      const Window& window = windows.next(used);
      used = document.walk(window);
      last = window.last;
      const double progress = std::max(reader->progress(), 1e-6);
      document.rows().expect(static_cast<std::size_t>(
          static_cast<double>(document.rows().size()) / progress * 1.5));
    }
    document.finish(windows);
  } catch (const TraceError& error) {
    // Damage in the container shows as nonsense in the text. Read on to its checksum:
    // if that is wrong, its error says more than this one.
    if (!error.kind().starts_with("gzip")) {
      reader->skip(std::numeric_limits<std::uint64_t>::max());
    }
    throw;
  }
  trace.source = std::move(source);
  return trace;
}

}  // namespace

Trace load_file(const std::string& path, const LoadOptions& options) {
  return load(Source::file(path, options), options);
}

Trace load_bytes(std::string bytes, const LoadOptions& options) {
  return load(Source::memory(std::move(bytes), options), options);
}

}  // namespace tta::trace
