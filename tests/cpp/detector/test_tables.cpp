// SPDX-License-Identifier: BSD-3-Clause
// The tables of a model: what a file keeps of them, and how they are matched.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "detector/files.h"
#include "detector/stacked.h"
#include "detector/tables.h"
#include "features/feature_table.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;
using Places = std::vector<std::int32_t>;

Tables small_tables() {
  return {{{"a"}, {"b", 2}, {"c"}},
          {{{"x"}, 0}, {{"y", 3}, 1}},
          {{"f"}, {"g"}},
          {{"kind"}, {"parent"}},
          {{{"other"}}, {{"mm"}}, {{"call"}}}};
}

TEST(Tables, ThoseOfThisVersionAreItsFeatures) {
  const auto& tables = own_tables();
  const auto columns = features::window_columns();
  ASSERT_EQ(tables.window_columns(), columns.size());
  for (std::size_t i = 0; i < tables.statistics.size(); ++i) {
    EXPECT_EQ(tables.statistics[i].name, columns[i].name);
  }
  const auto first = tables.statistics.size();
  for (std::size_t i = 0; i < tables.patterns.size(); ++i) {
    EXPECT_EQ("cause_" + tables.patterns[i].name, columns[first + i].name);
  }
  EXPECT_EQ(tables.figures.size() + tables.roles.size(),
            features::token_columns().size());
  EXPECT_EQ(tables.patterns[2], (NamedPattern{{"dataloader_bound"}, 0}));
  EXPECT_EQ(tables.outputs(), tables.patterns.size() + 3);
}

TEST(Tables, TextIsReadBackTheSame) {
  for (const auto& tables : {small_tables(), own_tables()}) {
    EXPECT_EQ(tables_from_text(to_text(tables)), tables);
  }
  const auto text = to_text(small_tables());
  EXPECT_EQ(text.at("statistics"), "a:1 b:2 c:1");
  EXPECT_EQ(text.at("patterns"), "x:1:cpu y:3:gpu");
}

TEST(Tables, TextThatIsNoneIsRefused) {
  const auto with = [](const char* table, const std::string& entries) {
    auto text = to_text(small_tables());
    text[table] = entries;
    return why_refused([&] { tables_from_text(text); });
  };
  for (const auto* entry : {"a", "a:", ":1", "a:0", "a:-1", "a:1x", "a:99999999999"}) {
    EXPECT_TRUE(says(with("kinds", entry), "kinds has no such name as")) << entry;
  }
  for (const auto* entry : {"x:1", "x:1:", "x:1:tpu", ":1:cpu", "x:cpu"}) {
    EXPECT_TRUE(says(with("patterns", entry), "patterns has no such name as")) << entry;
  }
  EXPECT_TRUE(says(with("figures", "a:1 b:1 a:2"), "figures has a:2 twice"));
  std::string many;
  for (int i = 0; i < 4097; ++i) many += "n" + std::to_string(i) + ":1 ";
  EXPECT_TRUE(says(with("roles", many), "roles has more than 4096 names"));
  auto text = to_text(small_tables());
  text.erase("statistics");
  EXPECT_TRUE(
      says(why_refused([&] { tables_from_text(text); }), "statistics is missing"));
}

TEST(Match, TheSameTablesAreReadAsTheyAre) {
  const auto matching = match(own_tables(), own_tables());
  EXPECT_TRUE(matching.windows.empty());
  EXPECT_TRUE(matching.kinds.empty());
  const std::vector<float> rows(2 * matching.given_columns, 0.5f);
  std::vector<float> out;
  matching.add_windows(rows, out);
  EXPECT_EQ(out, rows);
}

TEST(Match, IsByNameAndVersion) {
  const auto theirs = small_tables();
  auto ours = theirs;
  ours.statistics = {{"new"}, {"c"}, {"b", 3}, {"a"}};
  ours.patterns = {{{"y", 3}, 1}, {{"new"}, 0}};
  ours.figures = {{"new"}, {"g"}};
  ours.kinds = {
      {{"new"}, "call"}, {{"mm"}}, {{"other"}}, {{"call"}}, {{"odd"}, "odder"}};
  auto matching = match(ours, theirs);
  EXPECT_EQ(matching.patterns, (Places{-1, 0}));
  EXPECT_EQ(matching.windows, (Places{3, -1, 1, -1, 4}));
  EXPECT_EQ(matching.figures, (Places{-1, 1}));
  // A new kind becomes the general one of its sort, or, if that is not known, "other".
  EXPECT_EQ(matching.kinds, (Places{2, 1, 0, 2, 0}));
  matching.usual_windows = {10, 20, 30, 40, 50};
  std::vector<float> out;
  matching.add_windows(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, out);
  EXPECT_EQ(out, (std::vector<float>{3, 20, 1, 40, 4, 9, 20, 7, 40, 10}));
  matching.usual_figures = {7, 8};
  out.clear();
  matching.add_figures(std::vector<float>{1, 2, 3, 4}, 2, out);
  EXPECT_EQ(out, (std::vector<float>{7, 2, 7, 4}));
}

TEST(Match, TooLittleSharedIsRefused) {
  const auto refusal = [](const std::function<void(Tables&)>& change) {
    auto ours = own_tables();
    change(ours);
    return why_refused([&] { match(ours, own_tables()); });
  };
  const auto raise = [](auto& table, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ++table[i].version;
  };
  const auto& own = own_tables();
  const auto half = [](const auto& table) { return table.size() / 2; };
  EXPECT_EQ(refusal([&](Tables& t) { raise(t.statistics, half(t.statistics)); }), "");
  EXPECT_EQ(refusal([&](Tables& t) { raise(t.kinds, 10); }), "");
  const auto all = std::to_string(own.statistics.size());
  EXPECT_TRUE(
      says(refusal([&](Tables& t) { raise(t.statistics, half(t.statistics) + 1); }),
           "of the " + all + " statistics that it was trained on, this version has"));
  EXPECT_TRUE(says(refusal([](Tables& t) { t.patterns.resize(2); }),
                   "patterns that it was trained on, this version has 2, of at least"));
  EXPECT_TRUE(says(refusal([&](Tables& t) { raise(t.figures, half(t.figures) + 1); }),
                   "figures that"));
  EXPECT_TRUE(says(refusal([&](Tables& t) { raise(t.kinds, half(t.kinds) + 1); }),
                   "kinds of events that"));
  EXPECT_TRUE(says(refusal([&](Tables& t) { raise(t.roles, 1); }), "roles of tokens"));
  auto theirs = own_tables();
  theirs.kinds[0].name = "something";  // that was "other"
  auto ours = own_tables();
  EXPECT_TRUE(says(why_refused([&] { match(ours, theirs); }), "no kind \"other\""));
  theirs = own_tables();
  theirs.patterns.clear();
  EXPECT_TRUE(says(why_refused([&] { match(ours, theirs); }), "of the 0 patterns"));
}

TEST(TablesFile, TheyAreReadBack) {
  const auto path = path_of("tables");
  std::map<std::string, std::string> metadata = {{"seed", "1"}};
  name_tables(small_tables(), metadata);
  write_tensors(path, metadata, {});
  EXPECT_EQ(read_tables(read_tensors(path)), small_tables());
  relabel(path, path_of("tables_of_ours"), own_tables());
  const auto other = read_tensors(path_of("tables_of_ours"));
  EXPECT_EQ(read_tables(other), own_tables());
  EXPECT_EQ(other.about("seed"), "1");
}

TEST(TablesFile, OtherFormatsAndTablesAreRefused) {
  const auto refusal = [](const char* key, const char* value) {
    const auto path = path_of("other_tables");
    std::map<std::string, std::string> metadata;
    name_tables(small_tables(), metadata);
    metadata[key] = value;
    if (*value == '\0') metadata.erase(key);
    write_tensors(path, metadata, {});
    return why_refused<WeightsError>([&] { read_tables(read_tensors(path)); });
  };
  const auto path = path_of("other_tables");
  EXPECT_EQ(refusal("seed", "1"), "");
  EXPECT_TRUE(says(refusal("format", ""), "lack \"format\""));
  EXPECT_TRUE(says(refusal("format", "\x1b"), "its format is \"?\", not torchtraceap"));
  EXPECT_TRUE(says(refusal("format", "torchtraceap detector 1"),
                   path + ": it does not name its columns. Train again or, if it"));
  EXPECT_TRUE(says(refusal("tables.kinds", ""), "its table of \"kinds is missing\""));
  EXPECT_TRUE(
      says(refusal("tables.kinds", "a:x"), "\"kinds has no such name as a:x\""));
}

}  // namespace
}  // namespace tta::detector
