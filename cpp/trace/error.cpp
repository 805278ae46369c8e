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
                    std::int64_t offset, std::int64_t event) {
  std::string text = printable(path, kMaxPath) + ": " + printable(cause, kMaxCause);
  if (offset >= 0) {
    text += kind.starts_with("gzip") ? ", at byte " : ", at JSON byte ";
    text += std::to_string(offset);
    if (kind.starts_with("gzip")) text += " of the compressed file";
  }
  if (event >= 0) text += ", traceEvents[" + std::to_string(event) + "]";
  text += ".";
  if (!hint.empty()) text.append(" ").append(printable(hint, kMaxHint));
  return text;
}

}  // namespace

TraceError::TraceError(std::string kind, std::string path, const std::string& cause,
                       std::string hint, std::int64_t offset, std::int64_t event)
    : std::runtime_error(message(kind, path, cause, hint, offset, event)),
      kind_(std::move(kind)),
      path_(std::move(path)),
      hint_(std::move(hint)),
      offset_(offset),
      event_(event) {}

}  // namespace tta::trace
