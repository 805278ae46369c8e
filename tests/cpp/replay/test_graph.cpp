// SPDX-License-Identifier: BSD-3-Clause
// replay/test_graph.cpp: schedules of graphs drawn by hand, and those that have none.
#include "replay/graph.h"

#include <gtest/gtest.h>

namespace tta::replay {
namespace {

using Times = std::vector<std::int64_t>;
constexpr auto kLoop = std::int64_t{1'000'000};

Times schedule(const Graph& g, KindSet without = 0) {
  return g.schedule(g.weights(without));
}

TEST(Graph, TakesTheLatestOfWhatAPointWaitsFor) {
  // Edges in no order; 3 waits for 1 and 2.
  const Graph g(4, {{2, 3, 5, EdgeKind::kSync},
                    {0, 1, 10, EdgeKind::kThink},
                    {1, 3, 7, EdgeKind::kWaitCost},
                    {1, 2, 4, EdgeKind::kLaunch}});
  EXPECT_EQ(schedule(g), (Times{0, 10, 14, 19}));
  EXPECT_EQ(schedule(g, bit(EdgeKind::kSync)), (Times{0, 10, 14, 17}));
  EXPECT_EQ(schedule(g, bit(EdgeKind::kSync) | bit(EdgeKind::kWaitCost)),
            (Times{0, 10, 14, 0}));
}

TEST(Graph, AnEdgeMayLeadBackInTime) {
  const Graph g(3, {{0, 1, 10, EdgeKind::kWork}, {1, 2, -3, EdgeKind::kFifo}});
  EXPECT_EQ(schedule(g), (Times{0, 10, 7}));
  const Graph before(2, {{0, 1, -3, EdgeKind::kFifo}});
  EXPECT_EQ(schedule(before), (Times{0, -3})) << "nothing holds it at the origin";
}

TEST(Graph, NamesTheEdgeThatBinds) {
  const Graph g(3, {{0, 1, 10, EdgeKind::kThink},
                    {0, 2, 9, EdgeKind::kLaunch},
                    {1, 2, 3, EdgeKind::kFifo}});
  const auto w = g.weights();
  const auto t = g.schedule(w);
  EXPECT_EQ(g.edges()[g.binding(2, w, t)].kind, EdgeKind::kFifo);
  EXPECT_EQ(g.binding(0, w, t), Graph::kNoEdge);
}

TEST(Graph, ACircleIsRefusedByName) {
  try {
    const Graph g(5, {{0, 1, 1, EdgeKind::kThink},
                      {1, 2, 1, EdgeKind::kSync},
                      {2, 3, 1, EdgeKind::kLaunch},
                      {3, 1, 1, EdgeKind::kStreamWait},
                      {3, 4, 1, EdgeKind::kWork}});
    FAIL() << "a circle has no schedule";
  } catch (const CycleError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("3 dependencies"), what.npos) << what;
    for (const char* name : {"sync", "launch", "stream_wait"}) {
      EXPECT_NE(what.find(name), what.npos) << what;
    }
    EXPECT_EQ(what.find("think"), what.npos) << "is not on the circle: " << what;
    EXPECT_EQ(what.find("work)"), what.npos) << "is not on the circle: " << what;
  }
}

TEST(Graph, ALongCircleIsNamedInShort) {
  std::vector<Edge> edges;
  for (PointId p = 1; p < 2000; ++p) {
    edges.push_back({p, p == 1999 ? 1 : p + 1, 1, EdgeKind::kFifo});
  }
  try {
    const Graph g(2000, std::move(edges));
    FAIL();
  } catch (const CycleError& e) {
    EXPECT_NE(std::string(e.what()).find("1999 dependencies"), std::string::npos);
    EXPECT_LT(std::string(e.what()).size(), 300u);
  }
}

TEST(Graph, ItsOwnPredecessorIsACircle) {
  EXPECT_THROW(Graph(2, {{1, 1, 0, EdgeKind::kThink}}), CycleError);
}

TEST(Graph, AnEdgeToNoPointIsRefused) {
  EXPECT_THROW(Graph(2, {{0, 2, 1, EdgeKind::kThink}}), std::out_of_range);
  EXPECT_THROW(Graph(2, {{7, 1, 1, EdgeKind::kThink}}), std::out_of_range);
}

TEST(Graph, AMillionPointsInARow) {
  std::vector<Edge> edges;
  for (PointId p = kLoop; p > 0; --p) edges.push_back({p - 1, p, 2, EdgeKind::kWork});
  const Graph g(kLoop + 1, std::move(edges));
  EXPECT_EQ(schedule(g).back(), 2 * kLoop);
}

}  // namespace
}  // namespace tta::replay
