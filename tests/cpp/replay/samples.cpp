// SPDX-License-Identifier: BSD-3-Clause
// replay/samples.cpp: reads traces, takes them apart, and looks things up in models.
#include "replay/samples.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "trace/source.h"

namespace tta::test {
namespace {

namespace fs = std::filesystem;

std::string inflate(const fs::path& path) {
  const auto text = trace::Source::file(path.string(), {})->open();
  std::string out, part(std::size_t{1} << 20, '\0');
  while (const auto n = text->read(part.data(), part.size())) out.append(part, 0, n);
  return out;
}

std::string category(std::string_view row) {
  std::string out(value_of(row, "cat"));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

std::optional<std::string> trace_text(const std::string& name) {
  const auto root = fs::path(TTA_ROOT);
  for (const auto& folder :
       {root / "tests/data", root.parent_path() / "shared/traces"}) {
    const auto path = folder / (name + ".json.gz");
    if (fs::exists(path)) return inflate(path);
  }
  return {};
}

Rows::Rows(std::string_view text) {
  const auto key = text.find("\"traceEvents\"");
  const auto open = text.find('[', key);
  before_ = text.substr(0, open + 1);
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (auto i = open + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (depth++ == 0) begin = i;
    } else if (c == '}' || c == ']') {
      if (depth == 0) {
        after_ = text.substr(i);
        return;
      }
      if (--depth == 0) all.emplace_back(text.substr(begin, i + 1 - begin));
    }
  }
}

std::string Rows::text() const {
  std::string out = before_;
  for (std::size_t i = 0; i < all.size(); ++i) out += (i > 0 ? ",\n" : "") + all[i];
  return out + after_;
}

std::size_t Rows::drop(const std::function<bool(const std::string&)>& test) {
  return std::erase_if(all, test);
}

std::size_t Rows::drop_tenth(const std::function<bool(const std::string&)>& test) {
  int n = 0;
  return drop([&](const std::string& row) { return test(row) && n++ % 10 == 4; });
}

std::string_view value_of(std::string_view row, std::string_view key) {
  auto at = row.find("\"" + std::string(key) + "\"");
  if (at == row.npos) return {};
  at = row.find_first_not_of(" \t\n", row.find(':', at + key.size() + 2) + 1);
  if (row[at] == '"') return row.substr(at + 1, row.find('"', at + 1) - at - 1);
  return row.substr(at, row.find_first_of(",}] \n", at) - at);
}

double number_of(std::string_view row, std::string_view key) {
  const auto value = value_of(row, key);
  return value.empty() ? -1 : std::strtod(std::string(value).c_str(), nullptr);
}

bool is_call(std::string_view row) {
  const auto cat = category(row);
  return cat == "cuda_runtime" || cat == "cuda_driver" || cat == "runtime";
}

bool is_device_work(std::string_view row) {
  const auto cat = category(row);
  return cat == "kernel" || cat.ends_with("memcpy") || cat.ends_with("memset");
}

Replayed::Replayed(const std::string& text, const replay::ModelOptions& options)
    : Replayed(trace::load_bytes(text), options) {}

Replayed::Replayed(trace::Trace loaded, const replay::ModelOptions& options)
    : trace(std::move(loaded)),
      timeline(timeline::make_timeline(trace)),
      args(timeline),
      model(replay::make_model(timeline, args, options)),
      times(model.graph.schedule(model.graph.weights())) {}

const replay::Task& Replayed::task(std::string_view name) const {
  for (const auto& t : model.tasks.all) {
    if (trace.name(t.row) == name) return t;
  }
  throw std::out_of_range("no task " + std::string(name));
}

const replay::Call& Replayed::call(std::string_view name, int n) const {
  std::vector<const replay::Call*> of;
  for (const auto& c : model.calls.all) {
    if (trace.name(c.row) == name) of.push_back(&c);
  }
  std::stable_sort(of.begin(), of.end(),
                   [](auto* a, auto* b) { return a->begin < b->begin; });
  return *of.at(static_cast<std::size_t>(n));
}

std::int64_t Replayed::starts(std::string_view name) const {
  return times[task(name).start_point];
}
std::int64_t Replayed::ends(std::string_view name) const {
  return times[task(name).end_point];
}
std::int64_t Replayed::returns(std::string_view name, int n) const {
  return times[call(name, n).end_point];
}

std::uint32_t Replayed::row(std::string_view name) const {
  for (std::uint32_t row = 0; row < trace.columns.size(); ++row) {
    if (trace.name(row) == name) return row;
  }
  throw std::out_of_range("no event " + std::string(name));
}

double Replayed::span_error(replay::KindSet without) const {
  const auto replayed = model.graph.schedule(model.graph.weights(without));
  const auto recorded = static_cast<double>(replay::span_of(model.recorded()));
  return static_cast<double>(replay::span_of(replayed)) / recorded - 1;
}

replay::ModelOptions by_constants() {
  replay::ModelOptions options;
  options.calibrate = false;
  return options;
}

}  // namespace tta::test
