// SPDX-License-Identifier: BSD-3-Clause
// The weights that ship, read by a version with other columns, kinds and patterns than
// they were trained on.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "detector/model.h"
#include "detector/stacked.h"
#include "detector/traced.h"
#include "support/says.h"

namespace tta::detector {
namespace {

using test::says;

const std::string kShipped =
    std::string(TTA_ROOT) + "/python/torchtraceap/weights/detector.safetensors";

// The arrays of a trace, as a version with these tables makes them.
struct Version {
  Tables tables = own_tables();
  std::vector<float> windows;
  std::vector<std::uint8_t> kind;
  Arrays arrays;

  Said say() {
    arrays.windows = windows;
    arrays.kind = kind;
    return Model::load(kShipped, "cpu", tables).say(arrays, {3});
  }
  // Calls with each row of windows.
  template <typename Change>
  void change_rows(std::size_t columns, Change change) {
    std::vector<float> out;
    for (auto row = windows.begin(); row != windows.end();
         row += static_cast<std::ptrdiff_t>(columns)) {
      std::vector<float> one(row, row + static_cast<std::ptrdiff_t>(columns));
      change(one);
      out.insert(out.end(), one.begin(), one.end());
    }
    windows = std::move(out);
  }
  void add_column(std::size_t at, float value) {
    change_rows(tables.window_columns(), [&](std::vector<float>& row) {
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(at), value);
    });
  }
  void drop_column(std::size_t at) {
    change_rows(tables.window_columns(), [&](std::vector<float>& row) {
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  void set_column(std::size_t at, float value) {
    change_rows(tables.window_columns(),
                [&](std::vector<float>& row) { row[at] = value; });
  }
};

// Rules claim some time in each window: else many columns by cause are alike.
const Version& today() {
  static const Traced traced("h100-vit-nsfw-inference.json.gz");
  static const auto version = [] {
    Version out;
    out.arrays = traced.arrays;
    out.windows = traced.features.windows;
    out.kind = traced.features.tokens.kind;
    const auto first = out.tables.statistics.size();
    float share = 0;
    out.change_rows(out.tables.window_columns(), [&](std::vector<float>& row) {
      for (auto i = first; i < row.size(); ++i) {
        share = share > 0.05f ? 0 : share + 0.0011f;
        row[i] = share;
      }
    });
    return out;
  }();
  return version;
}

void expect_same(const Said& a, const Said& b) {
  EXPECT_EQ(a.probability, b.probability);
  EXPECT_EQ(a.network, b.network);
  EXPECT_EQ(a.trees, b.trees);
  EXPECT_EQ(a.types, b.types);
  EXPECT_EQ(a.recoverable, b.recoverable);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.strangeness, b.strangeness);
}

// Where an entry is in a table; its size if it is not there.
std::size_t place(const auto& table, std::string_view name) {
  return static_cast<std::size_t>(
      std::find_if(table.begin(), table.end(),
                   [&](const auto& entry) { return entry.name == name; }) -
      table.begin());
}

// Where a window column is: a statistic or, as "cause_...", a pattern's.
std::size_t window_column(const Tables& tables, std::string_view name) {
  if (!name.starts_with("cause_")) return place(tables.statistics, name);
  return tables.statistics.size() + place(tables.patterns, name.substr(6));
}

// The default of a window column of the shipped weights.
float usual(std::string_view name) {
  const auto model = Model::load(kShipped, "cpu");
  const auto column = window_column(model.network()->tables(), name);
  return model.stack().known.middle.at(column);
}

TEST(Shipped, NewColumnsPatternsAndKindsChangeNoScore) {
  auto now = today(), next = today();
  const auto causes = next.tables.statistics.size();
  next.add_column(causes + 5, 0.75f);
  next.tables.patterns.insert(next.tables.patterns.begin() + 5, {{"dummy_pattern"}, 0});
  next.add_column(3, 0.25f);
  next.tables.statistics.insert(next.tables.statistics.begin() + 3, {"dummy_column"});
  next.tables.kinds.insert(next.tables.kinds.begin() + 2, {{"dummy_kind"}, "other"});
  for (auto& kind : next.kind) kind = static_cast<std::uint8_t>(kind + (kind >= 2));
  // What moved is found, too.
  std::swap(next.tables.statistics[0], next.tables.statistics[20]);
  next.change_rows(next.tables.window_columns(),
                   [](std::vector<float>& row) { std::swap(row[0], row[20]); });
  next.tables.figures.push_back({"dummy_figure"});
  const auto before = now.say();
  expect_same(next.say(), before);
  EXPECT_GT(*std::max_element(before.probability.begin(), before.probability.end()),
            0.5f);
  const auto model = Model::load(kShipped, "cpu", next.tables);
  const auto& known = model.network()->tables().patterns;
  EXPECT_EQ(place(known, "dummy_pattern"), known.size());
}

TEST(Shipped, AColumnThatIsGoneOrOfAnotherVersionIsAsUsual) {
  const auto column = window_column(own_tables(), "busy");
  auto gone = today(), raised = today(), as_usual = today();
  gone.drop_column(column);
  gone.tables.statistics.erase(gone.tables.statistics.begin() +
                               static_cast<std::ptrdiff_t>(column));
  ++raised.tables.statistics[column].version;
  as_usual.set_column(column, usual("busy"));
  const auto expected = as_usual.say();
  expect_same(gone.say(), expected);
  expect_same(raised.say(), expected);
  EXPECT_NE(Version(today()).say().probability, expected.probability);
}

TEST(Shipped, APatternThatIsGoneOrOfAnotherVersionIsNeverNamed) {
  const auto at = place(own_tables().patterns, "launch_bound");
  const auto column = window_column(own_tables(), "cause_launch_bound");
  auto gone = today(), raised = today(), as_usual = today();
  gone.drop_column(column);
  gone.tables.patterns.erase(gone.tables.patterns.begin() +
                             static_cast<std::ptrdiff_t>(at));
  ++raised.tables.patterns[at].version;
  as_usual.set_column(column, usual("cause_launch_bound"));
  const auto expected = as_usual.say();
  for (auto* version : {&gone, &raised}) {
    expect_same(version->say(), expected);
    const auto model = Model::load(kShipped, "cpu", version->tables);
    const auto& network = *model.network();
    const auto named = place(network.tables().patterns, "launch_bound");
    EXPECT_EQ(network.matching().patterns[named], -1);
    EXPECT_GE(network.matching().patterns[named + 1], 0);
  }
}

TEST(Shipped, AFigureOfAnotherVersionIsAsUsual) {
  auto raised = today(), as_usual = today();
  const auto figure = place(own_tables().figures, "duration_ratio");
  ++raised.tables.figures[figure].version;
  const auto model = Model::load(kShipped, "cpu", raised.tables);
  const auto known = place(model.network()->tables().figures, "duration_ratio");
  const std::vector<float> ratios(as_usual.arrays.tokens(),
                                  model.network()->matching().usual_figures.at(known));
  as_usual.arrays.duration_ratio = ratios;
  expect_same(raised.say(), as_usual.say());
}

TEST(Shipped, ANewKindIsTheGeneralOneOfItsSort) {
  auto next = today(), general = today();
  const auto kernel = place(own_tables().kinds, "kernel");
  next.tables.kinds.push_back({{"dummy_kernel"}, "kernel"});
  int changed = 0;
  for (std::size_t i = 0; i < next.kind.size(); i += 7) {
    ++changed;
    next.kind[i] = static_cast<std::uint8_t>(next.tables.kinds.size() - 1);
    general.kind[i] = static_cast<std::uint8_t>(kernel);
  }
  ASSERT_GT(changed, 100);
  expect_same(next.say(), general.say());
}

// Of any pattern, in all windows or one: neither network nor trees counteract.
TEST(Shipped, ALargerClaimNeverLowersAProbability) {
  const auto model = Model::load(kShipped, "cpu");
  const auto columns = own_tables().window_columns();
  const auto statistics = own_tables().statistics.size();
  for (const auto* name :
       {"h100-vit-nsfw-inference.json.gz", "mi300-torch-compile-triton.json.gz",
        "nccl-rank000of128-sampled.json.gz"}) {
    const Traced traced(name);
    auto arrays = traced.arrays;
    auto claims = traced.features.windows;  // in which nothing is known of rules
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (i % columns >= statistics) claims[i] = i % 3 == 0 ? 0.01f : 0;
    }
    arrays.windows = claims;
    const auto before = model.say(arrays);
    std::size_t raised = 0;
    for (std::size_t i = 0; i < own_tables().patterns.size(); i += 3) {
      auto windows = claims;
      for (std::size_t w = i % 2; w < arrays.count(); w += 1 + i % 2) {
        windows[w * columns + statistics + i] += 0.25f;
      }
      arrays.windows = windows;
      const auto after = model.say(arrays);
      EXPECT_EQ(after.strangeness, before.strangeness);
      for (std::size_t at = 0; at < before.probability.size(); ++at) {
        EXPECT_GE(after.probability[at], before.probability[at]) << name << i;
        raised += after.probability[at] > before.probability[at];
      }
    }
    EXPECT_GT(raised, arrays.count()) << name;
    // Nor of the shares that a report hands over.
    arrays.windows = claims;  // a view: those of the loop are gone
    std::vector<float> told(2 * arrays.count(), 0.03f);
    const auto little = model.say(arrays, {}, told);
    for (auto& share : told) share = 0.2f;
    const auto much = model.say(arrays, {}, told);
    for (std::size_t at = 0; at < told.size(); ++at) {
      EXPECT_GT(much.probability[at], little.probability[at]) << name;
    }
  }
}

TEST(Shipped, TooLittleInCommonIsRefused) {
  auto other = today();
  for (auto& column : other.tables.statistics) ++column.version;
  const auto message = why_refused<WeightsError>([&] { other.say(); });
  EXPECT_TRUE(says(message, kShipped + ": of the "));
  EXPECT_TRUE(says(message, "this version has 0, of at least"));
  EXPECT_TRUE(says(message, "Use weights of this version, or train again."));
}

}  // namespace
}  // namespace tta::detector
