// SPDX-License-Identifier: BSD-3-Clause
// trace/only_processes.cpp: copies rows, and renumbers their texts.
#include "trace/only_processes.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "trace/args.h"

namespace tta::trace {
namespace {

constexpr std::string_view kInfo = "distributedInfo";

// Numbers in `out` of the texts that rows refer to by numbers in `in`.
class Texts {
 public:
  Texts(const StringPool& in, StringPool& out)
      : in_(in), out_(out), known_(in.size(), kUnknown) {}

  std::uint32_t operator()(std::uint32_t id) {
    auto& known = known_[id];
    if (known == kUnknown) known = out_.intern(in_.view(id));
    return known;
  }
  std::int64_t identity(std::int64_t pid_or_tid) {
    if (pid_or_tid < kTextIdentity) return pid_or_tid;
    return kTextIdentity +
           (*this)(static_cast<std::uint32_t>(pid_or_tid - kTextIdentity));
  }

 private:
  static constexpr std::uint32_t kUnknown = 0xffffffff;
  const StringPool& in_;
  StringPool& out_;
  std::vector<std::uint32_t> known_;
};

std::string info_of_rank(std::string_view info, std::optional<std::int64_t> rank) {
  std::string out = rank ? "\"rank\": " + std::to_string(*rank) : "";
  for_each_member(info, [&](std::string_view key, std::string_view value) {
    if (key == "rank") return;
    if (!out.empty()) out += ", ";
    out.append("\"").append(key).append("\": ").append(value);
  });
  return "{" + out + "}";
}

}  // namespace

Trace only_processes(const Trace& trace, std::span<const std::int64_t> pids,
                     std::optional<std::int64_t> rank) {
  const std::unordered_set<std::int64_t> wanted(pids.begin(), pids.end());
  const auto& from = trace.columns;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < from.size(); ++row) {
    if (wanted.contains(from.pid[row])) rows.push_back(row);
  }
  rows.shrink_to_fit();

  Trace out;
  out.path = trace.path;
  out.metadata = trace.metadata;
  out.warnings = trace.warnings;
  out.text_bytes = trace.text_bytes;
  out.left_out = trace.left_out;
  out.kept = trace.kept;
  out.source = trace.source;
  out.memory = trace.memory;  // Found by the rows that are there.

  auto& to = out.columns;
#define TTA_COPY(name, type, doc) \
  to.name.reserve(rows.size());   \
  for (const auto row : rows) to.name.push_back(from.name[row]);
  TTA_COLUMNS(TTA_COPY)
#undef TTA_COPY
  Texts texts(trace.strings, out.strings);
  for (auto& name : to.name) name = texts(name);
  for (auto& pid : to.pid) pid = texts.identity(pid);
  for (auto& tid : to.tid) tid = texts.identity(tid);

  // Kept of all rows that have such a member, or of none.
  const auto& kept = trace.kept_args;
  std::size_t at = 0;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    while (at < kept.rows().size() && kept.rows()[at] < rows[row]) ++at;
    if (at == kept.rows().size() || kept.rows()[at] != rows[row]) continue;
    out.kept_args.add(row, kept.text(kept.texts()[at]), KeptArgs::kNoLimit);
  }
  out.kept_args.finish(kept.complete());

  const auto is_info = [](const auto& member) { return member.first == kInfo; };
  const auto info = std::ranges::find_if(out.metadata, is_info);
  if (info != out.metadata.end()) {
    info->second = info_of_rank(info->second, rank);
  } else if (rank) {
    out.metadata.emplace_back(kInfo, info_of_rank("{}", rank));
  }
  return out;
}

}  // namespace tta::trace
