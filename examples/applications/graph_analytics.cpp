// Graph analytics: PageRank over a graph whose degrees follow a power law, and queries for who is
// two hops away.
//
//   graph_analytics [VERTICES [STEPS]] [--latencies FILE] [--huge-pages]
//
// PageRank as sparse matrix times vector, two threads that take tasks of 4096 vertices: edges with
// weights by target, one value sent by each vertex and read at random. Then four queries a task:
// each follows a vertex' edges out, and those of who is found, and sums up their ranks.
#include <algorithm>
#include <atomic>
#include <thread>

#include "application.hpp"

namespace {

using namespace application;

constexpr uint64_t kMeanDegree = 12;
constexpr uint64_t kThreads = 2;
constexpr uint64_t kTask = 4096;
constexpr uint64_t kTasksATrain = 2;        // Of queries.
constexpr uint64_t kMostSecondHops = 2000;  // A query of a well-known vertex ends with so many.
constexpr double kDamping = 0.85;

enum Kind : uint64_t { kSend, kGather, kTwoHops };

struct Edge {
  uint32_t source;
  float weight;
};

struct Graph {
  uint64_t vertices;
  uint64_t edges;
  uint64_t* in_begins;
  Edge* in_edges;
  uint64_t* out_begins;
  uint32_t* out_targets;
};

// The r-th best known vertex has edges in proportion to r^-4/5, and neighbours by number are
// neighbours by nothing else.
uint64_t well_known(Dice& dice, uint64_t vertices) {
  const double share = static_cast<double>(dice.next() >> 11) * 0x1p-53;
  const double rank = share * share * share * share * share * static_cast<double>(vertices);
  return static_cast<uint64_t>(rank) * 0x9E3779B97F4A7C15u & (vertices - 1);
}

// Both ends of every edge are dealt by the same dice twice: once to count, once to fill.
template <typename Use>
void deal_edges(uint64_t vertices, const Use& use) {
  Dice dice(1);
  for (uint64_t source = 0; source < vertices; source++) {
    const uint64_t degree = dice.below(2 * kMeanDegree + 1);
    for (uint64_t i = 0; i < degree; i++) {
      // Half of the edges lead anywhere: real graphs have long tails.
      use(source, i % 2 ? well_known(dice, vertices) : dice.below(vertices));
    }
  }
}

Graph make_graph(uint64_t vertices) {
  Graph graph{vertices,
              0,
              region<uint64_t>("in begins", vertices + 2),
              nullptr,
              region<uint64_t>("out begins", vertices + 1),
              nullptr};
  // Two places on: filling moves each begin to the next vertex' own.
  deal_edges(vertices, [&](uint64_t source, uint64_t target) {
    graph.in_begins[target + 2]++;
    graph.out_begins[source + 1]++;
    graph.edges++;
  });
  for (uint64_t i = 0; i < vertices; i++) {
    graph.in_begins[i + 2] += graph.in_begins[i + 1];
    graph.out_begins[i + 1] += graph.out_begins[i];
  }
  graph.in_edges = region<Edge>("adjacency in", graph.edges);
  graph.out_targets = region<uint32_t>("adjacency out", graph.edges);
  uint64_t at = 0;
  deal_edges(vertices, [&](uint64_t source, uint64_t target) {
    graph.out_targets[at++] = static_cast<uint32_t>(target);
    graph.in_edges[graph.in_begins[target + 1]++] = {static_cast<uint32_t>(source), 1.0F};
  });
  return graph;
}

// Calls `work(first, last)` for every task, by all threads, and adds each task's latency.
template <typename Work>
void in_tasks(uint64_t vertices, Latencies& latencies, const Work& work) {
  std::atomic<uint64_t> next{0};
  std::array<Latencies, kThreads> mine;
  std::vector<std::thread> threads;
  for (Latencies& of_thread : mine) {
    threads.emplace_back([&] {
      for (;;) {
        const uint64_t first = next.fetch_add(kTask);
        if (first >= vertices) return;
        const uint64_t began = now_ns();
        work(first, std::min(first + kTask, vertices));
        of_thread.add(now_ns() - began);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Latencies& of_thread : mine) latencies.add(of_thread);
}

struct Answer {
  double sum = 0;
  uint64_t found = 0;
};

Answer two_hops(const Graph& graph, const double* ranks, uint64_t vertex) {
  Answer answer;
  for (uint64_t i = graph.out_begins[vertex]; i < graph.out_begins[vertex + 1]; i++) {
    const uint64_t hop = graph.out_targets[i];
    for (uint64_t j = graph.out_begins[hop]; j < graph.out_begins[hop + 1]; j++) {
      answer.sum += ranks[graph.out_targets[j]];
      if (++answer.found == kMostSecondHops) return answer;
    }
  }
  return answer;
}

}  // namespace

int main(int count, char** words) {
  const Options asked = options(count, words, 1u << 22, 2);
  const uint64_t vertices = std::bit_ceil(std::max<uint64_t>(asked.size, kTask));
  const Graph graph = make_graph(vertices);
  auto* const sent = region<double>("sent", vertices);
  auto* const ranks = region<double>("ranks", vertices);
  std::fill(ranks, ranks + vertices, 1.0 / static_cast<double>(vertices));
  Served served({"send", "gather", "two hops"});
  Connection connection;
  Dice dice(2);
  uint64_t found = 0;
  const uint64_t began = now_ns();
  for (uint64_t step = 0; step < asked.work; step++) {
    NEARFAR_BEGIN("pagerank");
    in_tasks(vertices, served.of(kSend), [&](uint64_t first, uint64_t last) {
      for (uint64_t vertex = first; vertex < last; vertex++) {
        const uint64_t degree = graph.out_begins[vertex + 1] - graph.out_begins[vertex];
        sent[vertex] = degree ? ranks[vertex] / static_cast<double>(degree) : 0.0;
      }
    });
    in_tasks(vertices, served.of(kGather), [&](uint64_t first, uint64_t last) {
      for (uint64_t vertex = first; vertex < last; vertex++) {
        double sum = 0.0;
        for (uint64_t i = graph.in_begins[vertex]; i < graph.in_begins[vertex + 1]; i++) {
          const Edge edge = graph.in_edges[i];
          sum += static_cast<double>(edge.weight) * sent[edge.source];
        }
        ranks[vertex] = (1.0 - kDamping) / static_cast<double>(vertices) + kDamping * sum;
      }
    });
    NEARFAR_END("pagerank", graph.edges);
    const uint64_t tasks = 2 * vertices / kTask;
    for (uint64_t train = 0; train < std::max<uint64_t>(1, tasks / kTasksATrain); train++) {
      char text[64];
      const auto told = [&](int length) {
        return std::string_view(text, static_cast<size_t>(length));
      };
      connection.train(
          served.name(kTwoHops), served.of(kTwoHops),
          [&] { return told(snprintf(text, sizeof text, "two-hops %lu\n", dice.below(vertices))); },
          [&](std::string_view request) {
            const uint64_t vertex = strtoull(request.data() + strlen("two-hops "), nullptr, 10);
            const Answer answer = two_hops(graph, ranks, vertex);
            return told(snprintf(text, sizeof text, "%lu %.9g\n", answer.found, answer.sum));
          },
          [&](std::string_view answer) { found += answer.front() != '0' ? 1 : 0; });
    }
  }
  served.report(static_cast<double>(now_ns() - began) / 1e9, asked.latencies);
  double whole = 0.0;
  for (uint64_t vertex = 0; vertex < vertices; vertex++) whole += ranks[vertex];
  printf("%lu edges, sum of ranks %.6f, %lu queries found somebody\n", graph.edges, whole, found);
  return whole > 0.0 && whole < 1.000001 && found > 0 ? 0 : 1;
}
