// Betweenness centrality of the GAP suite in kind: from a few sources, a breadth-first search that
// counts shortest paths and notes in a bit which edges are on one, and the sums of dependencies
// backwards along these.
//   graph SCALE DEGREE SOURCES
#include <vector>

#include "kind.hpp"

namespace {

struct Graph {
  uint64_t nodes, edges;  // an edge in each direction
  uint64_t* begin;
  uint32_t* neighbour;
};

Graph kronecker(uint64_t scale, uint64_t degree) {
  const uint64_t nodes = 1ull << scale;
  const uint64_t edges = nodes * degree;
  std::vector<uint32_t> from(edges);
  std::vector<uint32_t> to(edges);
  kind::Dice dice(6);
  for (uint64_t e = 0; e < edges; ++e) {
    uint64_t u = 0;
    uint64_t v = 0;
    for (uint64_t bit = 0; bit < scale; ++bit) {
      const double roll = dice.unit();  // quadrants 0.57, 0.19, 0.19, 0.05
      u = u << 1 | (roll >= 0.76);
      v = v << 1 | ((roll >= 0.57 && roll < 0.76) || roll >= 0.95);
    }
    from[e] = static_cast<uint32_t>(u * 0x9E3779B1u & (nodes - 1));
    to[e] = static_cast<uint32_t>(v * 0x9E3779B1u & (nodes - 1));
  }
  Graph graph{nodes, 2 * edges, kind::array<uint64_t>("index", nodes + 2),
              kind::array<uint32_t>("neighbours", 2 * edges)};
  for (uint64_t e = 0; e < edges; ++e) {
    ++graph.begin[from[e] + 2];
    ++graph.begin[to[e] + 2];
  }
  for (uint64_t n = 1; n <= nodes; ++n) graph.begin[n + 1] += graph.begin[n];
  for (uint64_t e = 0; e < edges; ++e) {
    graph.neighbour[graph.begin[from[e] + 1]++] = to[e];
    graph.neighbour[graph.begin[to[e] + 1]++] = from[e];
  }
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  const Graph graph = kronecker(kind::number(argc, argv, 1), kind::number(argc, argv, 2));
  const uint64_t sources = kind::number(argc, argv, 3);
  const uint64_t words = (graph.edges + 63) / 64;
  int32_t* depth = kind::array<int32_t>("depths", graph.nodes);
  double* paths = kind::array<double>("paths", graph.nodes);
  float* delta = kind::array<float>("dependencies", graph.nodes);
  float* score = kind::array<float>("scores", graph.nodes);
  uint32_t* order = kind::array<uint32_t>("queue", graph.nodes);
  uint64_t* successor = kind::array<uint64_t>("successors", words);
  kind::measure(sources, [&] {
    kind::Dice dice(7);
    for (uint64_t k = 0; k < sources; ++k) {
      uint32_t source = 0;
      do source = static_cast<uint32_t>(dice.below(graph.nodes));
      while (graph.begin[source] == graph.begin[source + 1]);
      for (uint64_t n = 0; n < graph.nodes; ++n) {
        depth[n] = -1;
        paths[n] = 0.0;
        delta[n] = 0.0F;
      }
      for (uint64_t w = 0; w < words; ++w) successor[w] = 0;
      depth[source] = 0;
      paths[source] = 1.0;
      order[0] = source;
      uint64_t tail = 1;
      for (uint64_t head = 0; head < tail; ++head) {
        const uint32_t u = order[head];
        const int32_t next = depth[u] + 1;
        for (uint64_t e = graph.begin[u]; e < graph.begin[u + 1]; ++e) {
          const uint32_t v = graph.neighbour[e];
          if (depth[v] < 0) {
            depth[v] = next;
            order[tail++] = v;
          }
          if (depth[v] == next) {
            successor[e / 64] |= 1ull << e % 64;
            paths[v] += paths[u];
          }
        }
      }
      for (uint64_t at = tail; at-- > 0;) {
        const uint32_t u = order[at];
        float sum = 0.0F;
        for (uint64_t e = graph.begin[u]; e < graph.begin[u + 1]; ++e) {
          if ((successor[e / 64] >> e % 64 & 1) == 0) continue;
          const uint32_t v = graph.neighbour[e];
          sum += static_cast<float>(paths[u] / paths[v]) * (1.0F + delta[v]);
        }
        delta[u] = sum;
        score[u] += sum;
      }
    }
  });
  kind::sink = static_cast<uint64_t>(score[1]);
}
