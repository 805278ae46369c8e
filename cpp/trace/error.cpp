// SPDX-License-Identifier: BSD-3-Clause
// trace/error.cpp: how a refusal reads: path, cause, place, hint.
#include "trace/error.h"

#include "trace/printable.h"

namespace tta::trace {
namespace {

// Paths are shown whole in practice; PATH_MAX of them would drown the message.
constexpr std::size_t kMaxPath = 300;
constexpr std::size_t kMaxCause = 1000;
constexpr std::size_t kMaxHint = 500;

std::string message(const std::string& kind, const std::string& path,
                    const std::string& cause, const std::string& hint,
                    std::int64_t offset, std::int64_t event, std::int64_t line) {
  std::string text = printable(path, kMaxPath) + ": " + printable(cause, kMaxCause);
  if (offset >= 0) {
    text += is_of_container(kind) ? ", at byte " : ", at JSON byte ";
    text += std::to_string(offset);
    if (kind.starts_with("gzip")) text += " of the compressed file";
    if (kind.starts_with("pftrace")) text += " of the packets";
    if (line >= 0) text += " (line " + std::to_string(line) + ")";
  }
  if (event >= 0) text += ", traceEvents[" + std::to_string(event) + "]";
  text += ".";
  if (!hint.empty()) text.append(" ").append(printable(hint, kMaxHint));
  return text;
}

}  // namespace

bool is_of_container(std::string_view kind) {
  return kind.starts_with("gzip") || kind.starts_with("pftrace");
}

TraceError::TraceError(std::string kind, std::string path, const std::string& cause,
                       std::string hint, std::int64_t offset, std::int64_t event,
                       std::int64_t line)
    : std::runtime_error(message(kind, path, cause, hint, offset, event, line)),
      kind_(std::move(kind)),
      path_(std::move(path)),
      cause_(cause),
      hint_(std::move(hint)),
      offset_(offset),
      event_(event),
      line_(line) {}

TraceError TraceError::located(std::int64_t line, const std::string& context) const {
  return {kind_, path_, cause_ + context, hint_, offset_, event_, line};
}

TraceError TraceError::with_hint(std::string hint) const {
  return {kind_, path_, cause_, std::move(hint), offset_, event_, line_};
}

TraceError TraceError::with_cause(const std::string& more) const {
  return {kind_, path_, cause_ + more, hint_, offset_, event_, line_};
}

}  // namespace tta::trace
