/*
 * routes: the routes with the fewest stops between places on a road map.
 *
 * The map is a rough grid of places joined by roads.  Places are numbered in random
 * order, so that neighbours on the map are not neighbours in memory.  Each query
 * searches breadth first from one place to another and describes the route found.
 * Hot:  stops, query, prev, first_road, road_count, fuel - read or written
 *       whenever a search looks at a place.
 * Cold: position, height, name, population and the like - read only for the
 *       places on a finished route and for the few fuel stations passed.
 * All places lie in one array.  With -DSPLIT there are two arrays with the same
 * numbering: the search state and the description.  Argument: number of places.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SPLIT
struct description {
#else
struct place {
#endif
  float x, y;
  int16_t height;
  uint16_t region;
  uint32_t population, visits, fuel_price;
  char name[32];
#ifdef SPLIT
};
static struct description* about;
#define ABOUT(i) about[i]

struct place {
#else
#define ABOUT(i) places[i]
#endif
  uint32_t query;       /* last query that reached this place */
  uint32_t prev, stops; /* where it came from, and how far from the start */
  uint32_t first_road;
  uint8_t road_count, fuel; /* fuel: there is a fuel station */
};

static struct place* places;
static uint32_t *queue, *roads; /* roads: the place at the other end */
static uint64_t sum;

static uint32_t rnd(uint32_t limit) {
  static uint64_t state = 88172645463325252u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(((state >> 32) * limit) >> 32);
}

static void build(uint32_t side, const uint32_t* id_at) {
  uint32_t road_total = 0;
  for (uint32_t cell = 0; cell < side * side; cell++) {
    uint32_t id = id_at[cell], x = cell % side, y = cell / side;
    ABOUT(id).x = (float)x + (float)rnd(1000) / 2000;
    ABOUT(id).y = (float)y + (float)rnd(1000) / 2000;
    ABOUT(id).height = (int16_t)rnd(1500);
    ABOUT(id).region = (uint16_t)((y / 64) * 100 + x / 64);
    ABOUT(id).population = rnd(20000);
    ABOUT(id).fuel_price = 1400 + rnd(400);
    snprintf(ABOUT(id).name, sizeof ABOUT(id).name, "Place %u-%u", x, y);
    places[id].fuel = rnd(100) == 0;
    places[id].first_road = road_total;
    uint32_t near[4] = {cell + 1, cell - 1, cell + side, cell - side};
    int exists[4] = {x + 1 < side, x > 0, y + 1 < side, y > 0};
    for (int i = 0; i < 4; i++)
      if (exists[i] && rnd(12) != 0) /* some roads are missing */
        roads[road_total++] = id_at[near[i]];
    places[id].road_count = (uint8_t)(road_total - places[id].first_road);
  }
}

static int search(uint32_t from, uint32_t to, uint32_t query) {
  uint32_t head = 0, tail = 0, cheapest = UINT32_MAX;
  places[from].stops = 0;
  places[from].query = query;
  queue[tail++] = from;
  while (head < tail && places[to].query != query) {
    uint32_t at = queue[head++];
    const struct place* p = &places[at];
    if (p->fuel && ABOUT(at).fuel_price < cheapest) cheapest = ABOUT(at).fuel_price;
    for (uint32_t r = p->first_road; r < p->first_road + p->road_count; r++) {
      struct place* q = &places[roads[r]];
      if (q->query == query) continue;
      q->query = query;
      q->stops = p->stops + 1;
      q->prev = at;
      queue[tail++] = roads[r];
    }
  }
  sum = sum * 31 + cheapest + tail;
  return places[to].query == query;
}

static void describe(uint32_t from, uint32_t to) {
  sum = sum * 31 + places[to].stops;
  for (uint32_t at = to; at != from; at = places[at].prev) {
    ABOUT(at).visits++;
    sum += (uint64_t)abs(ABOUT(at).height - ABOUT(places[at].prev).height);
    sum += ABOUT(at).population / 100 + (uint64_t)ABOUT(at).x + ABOUT(at).region;
  }
  sum = sum * 33 + (uint64_t)ABOUT(to).name[6];
}

int main(int argc, char** argv) {
  uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
  uint32_t side = 2;
  while ((side + 1) * (side + 1) <= n) side++;
  n = side * side; /* the map is a square */
  places = calloc(n, sizeof *places);
#ifdef SPLIT
  about = calloc(n, sizeof *about);
  if (!about) abort();
#endif
  roads = calloc(4 * (size_t)n, sizeof *roads);
  queue = calloc(n, sizeof *queue);
  uint32_t* id_at = calloc(n, sizeof *id_at);
  if (!places || !roads || !queue || !id_at) abort();
  for (uint32_t i = 0; i < n; i++) {
    uint32_t j = rnd(i + 1);
    id_at[i] = id_at[j];
    id_at[j] = i;
  }
  build(side, id_at);
  uint32_t reach = side < 250 ? side : 250, queries = n / 2000 + 1;
  for (uint32_t q = 1; q <= queries; q++) {
    uint32_t x = rnd(side - reach + 1), y = rnd(side - reach + 1);
    uint32_t from = id_at[(y + rnd(reach)) * side + x + rnd(reach)];
    uint32_t to = id_at[(y + rnd(reach)) * side + x + rnd(reach)];
    if (search(from, to, q)) describe(from, to);
  }
  for (uint32_t i = 0; i < n; i++) sum = sum * 7 + ABOUT(i).visits;
  printf("%016" PRIx64 "\n", sum);
  return 0;
}
