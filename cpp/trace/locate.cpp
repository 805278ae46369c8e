// SPDX-License-Identifier: BSD-3-Clause
// trace/locate.cpp: one pass up to the place.
#include "trace/locate.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "trace/printable.h"

namespace tta::trace {
namespace {

constexpr std::size_t kContext = 20;  // characters shown on each side

bool is_about_text(const TraceError& error) {
  return error.offset() >= 0 && !is_of_container(error.kind()) &&
         error.kind() != "read_error";
}

std::string quoted(std::string_view before, std::string_view after) {
  return ", near `" + printable(before, 4 * kContext) + " >>>" +
         printable(after, 4 * kContext) + "`";
}

}  // namespace

TraceError located(const TraceError& error, const Source& source, Progress& progress) {
  if (!is_about_text(error)) return error;
  try {
    const std::unique_ptr<TextReader> text = source.open();
    std::vector<char> buffer(std::size_t{256} << 10);
    std::string before;
    std::int64_t line = 1;
    auto left = static_cast<std::uint64_t>(error.offset());
    while (left > 0) {
      const auto part =
          static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
      const std::size_t n = text->read(buffer.data(), part);
      line += std::count(buffer.data(), buffer.data() + n, '\n');
      before.append(buffer.data() + n - std::min(n, kContext), std::min(n, kContext));
      before.erase(0, before.size() - std::min(before.size(), kContext));
      if (n < part) break;
      left -= n;
      progress.again(text->progress());
    }
    const std::size_t n = text->read(buffer.data(), kContext);
    return error.located(line, quoted(before, {buffer.data(), n}));
  } catch (const TraceError&) {
    return error;  // the first error says more than one about its line
  } catch (const FileNotFound&) {
    return error;
  }
}

}  // namespace tta::trace
