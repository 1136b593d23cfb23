// Bodies that move in every step; names and colours are read only in a report at the end.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

std::uint32_t bodies = 1000000;

#ifdef SPLIT
struct Body {
  double at[3];
  double speed[3];
};
struct Rest {
#else
struct Body {
  double at[3];
  double speed[3];
#endif
  char name[56];
  std::uint64_t colour;
  double mass;
  std::uint64_t hits;
};

std::vector<Body> all;
#ifdef SPLIT
std::vector<Rest> rests;
#define REST(i) rests[i]
#else
#define REST(i) all[i]
#endif

[[gnu::noinline]] void step(double dt) {
  for (Body& body : all)
    for (int k = 0; k < 3; ++k) body.at[k] += dt * body.speed[k];
}

[[gnu::noinline]] double weight() {
  double sum = 0;
  for (std::uint32_t i = 0; i < bodies; ++i) sum += REST(i).mass * static_cast<double>(REST(i).colour);
  return sum;
}

int main(int argc, char** argv) {
  if (argc > 1) bodies = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  all.resize(bodies);
#ifdef SPLIT
  rests.resize(bodies);
#endif
  for (std::uint32_t i = 0; i < bodies; ++i) {
    for (int k = 0; k < 3; ++k) all[i].speed[k] = static_cast<double>((i * 7919u + k) % 101);
    REST(i).mass = i % 13;
    REST(i).colour = i % 256;
  }
  for (int i = 0; i < 12; ++i) step(0.01);
  std::printf("%.0f %.3f\n", weight(), all[bodies / 2].at[1]);
}
