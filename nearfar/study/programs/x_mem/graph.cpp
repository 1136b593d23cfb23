// Graph analytics in kind: a step of PageRank on a graph of skewed degrees, edges by target.
//
//   graph VERTICES STEPS
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "dice.hpp"
#include "nearfar/mark.h"

namespace {

constexpr uint64_t kMeanDegree = 8;
constexpr double kDamping = 0.85;
constexpr uint64_t kThreads = 2;

struct Graph {
  std::vector<uint64_t> begins;   // Of each vertex' edges; one more than there are vertices.
  std::vector<uint32_t> sources;  // Of each edge.
  std::vector<uint32_t> degrees;  // Edges that leave each vertex.
};

Graph make_graph(uint64_t vertices) {
  Dice dice(1);
  Graph graph;
  {
    NEARFAR_TAG("begins");
    graph.begins.reserve(vertices + 1);
  }
  {
    NEARFAR_TAG("edges");
    graph.sources.reserve(kMeanDegree * vertices + vertices / 16);
  }
  {
    NEARFAR_TAG("degrees");
    graph.degrees.resize(vertices);
  }
  for (uint64_t vertex = 0; vertex < vertices; vertex++) {
    graph.begins.push_back(graph.sources.size());
    const uint64_t edges = dice.below(2 * kMeanDegree + 1);
    for (uint64_t edge = 0; edge < edges; edge++) {
      // Half of the edges come from anywhere: real graphs have long tails.
      const uint64_t source = edge % 2 ? dice.skewed_below(vertices) : dice.below(vertices);
      graph.sources.push_back(static_cast<uint32_t>(source));
      graph.degrees[source]++;
    }
  }
  graph.begins.push_back(graph.sources.size());
  return graph;
}

// Calls `work(first, last)` on every thread's share of `vertices`.
template <typename Work>
void share_out(uint64_t vertices, const Work& work) {
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; i++) {
    threads.emplace_back(work, vertices * i / kThreads, vertices * (i + 1) / kThreads);
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<double> tagged(const char* name, uint64_t count, double value) {
  NEARFAR_TAG(name);
  return std::vector<double>(count, value);
}

}  // namespace

int main(int count, char** words) {
  const uint64_t vertices = count > 1 ? strtoull(words[1], nullptr, 10) : 1u << 22;
  const uint64_t steps = count > 2 ? strtoull(words[2], nullptr, 10) : 1;
  const Graph graph = make_graph(vertices);
  std::vector<double> sent = tagged("sent", vertices, 0.0);
  std::vector<double> ranks = tagged("ranks", vertices, 1.0 / static_cast<double>(vertices));
  NEARFAR_BEGIN("work");
  for (uint64_t step = 0; step < steps; step++) {
    share_out(vertices, [&](uint64_t first, uint64_t last) {
      for (uint64_t vertex = first; vertex < last; vertex++) {
        const uint32_t degree = graph.degrees[vertex];
        sent[vertex] = degree ? ranks[vertex] / degree : 0.0;
      }
    });
    share_out(vertices, [&](uint64_t first, uint64_t last) {
      for (uint64_t vertex = first; vertex < last; vertex++) {
        double sum = 0.0;
        for (uint64_t edge = graph.begins[vertex]; edge < graph.begins[vertex + 1]; edge++) {
          sum += sent[graph.sources[edge]];
        }
        ranks[vertex] = (1.0 - kDamping) / static_cast<double>(vertices) + kDamping * sum;
      }
    });
  }
  NEARFAR_END("work", steps * graph.sources.size());
  double whole = 0.0;
  for (const double rank : ranks) whole += rank;
  printf("sum of ranks %.6f\n", whole);
  return whole > 0.0 && whole < 1.000001 ? 0 : 1;
}
