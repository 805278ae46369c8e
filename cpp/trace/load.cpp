// SPDX-License-Identifier: BSD-3-Clause
// trace/load.cpp: source -> windows -> document -> columns.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "trace/beginning.h"
#include "trace/document.h"
#include "trace/source.h"
#include "trace/windows.h"

namespace tta::trace {
namespace {

void walk(WindowReader& windows, const TextReader& reader, Document& document) {
  std::size_t used = 0;
  for (bool last = false; !last;) {
    const Window& window = windows.next(used);
    used = document.walk(window);
    last = window.last;
    // Later events are often shorter than the first ones.
    constexpr double kSlack = 2;
    const auto rows = static_cast<double>(document.rows().size());
    const double progress = std::max(reader.progress(), 1e-6);
    document.rows().expect(static_cast<std::size_t>(kSlack * rows / progress));
  }
  document.finish(windows);
}

void check_container(const TextReader& reader, const Document& document,
                     const std::string& path) {
  const Damage* const damage = reader.damage();
  if (damage == nullptr) return;
  // "At least": an inflater may keep back the last of what it had before the damage.
  const std::int64_t events = document.elements();
  throw TraceError(
      damage->kind, path,
      damage->cause + ", after at least " + std::to_string(events) + " whole events",
      damage->hint, static_cast<std::int64_t>(damage->offset), events);
}

Trace load(std::shared_ptr<const Source> source, const LoadOptions& options) {
  Trace trace;
  trace.path = source->path();
  const std::unique_ptr<TextReader> reader = source->open();
  WindowReader windows(*reader, options.window_bytes);
  Document document(trace);
  try {
    check_beginning(windows, trace.path);
    walk(windows, *reader, document);
  } catch (const TraceError&) {
    // Damage in the container shows as nonsense in the text. Read on to its checksum:
    // if that is wrong, it says more than this error.
    reader->skip(std::numeric_limits<std::uint64_t>::max());
    check_container(*reader, document, trace.path);
    throw;
  }
  check_container(*reader, document, trace.path);
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
