// connections: the connection table of a busy server.
//
// Packets arrive for random connections, some of them much busier than others.
// After each batch of packets the whole table is swept: send credit is topped up,
// and connections silent for too long are closed to make room for new clients.
// Hot:  last_seen, credit, bytes_in, packets, weight, open - changed by each
//       packet or looked at by each sweep.
// Cold: who the client is and the error and setup details - needed when a
//       connection opens or closes, and for the rare bad packet.
//
// The table is a std::vector.  With -DSPLIT it is two vectors with the same index,
// for the traffic state and the client details.  Argument: number of connections.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifdef SPLIT
struct Traffic {
  std::uint64_t bytes_in;
  std::uint32_t last_seen, packets;
  std::int32_t credit;
  std::uint8_t weight;
  bool open;
};
struct Client {
  char host[48];
  std::uint64_t user_id, session_key[2];
  std::uint16_t port, cipher;
  std::uint32_t opened, bad_packets, last_error, times_used;
};
static std::vector<Traffic> traffic;
static std::vector<Client> clients;
#else
struct Connection {
  char host[48];
  std::uint64_t user_id, session_key[2];
  std::uint16_t port, cipher;
  std::uint32_t opened, last_seen;
  std::int32_t credit;
  std::uint64_t bytes_in;
  std::uint32_t packets, bad_packets, last_error, times_used;
  std::uint8_t weight;
  bool open;
};
using Traffic = Connection;
using Client = Connection;
static std::vector<Connection> traffic;
static std::vector<Connection>& clients = traffic;
#endif

static std::uint32_t now;
static std::uint64_t closed, dropped, log_sum;

static std::uint32_t random_below(std::uint32_t limit) {
  static std::uint64_t state = 2463534242u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(((state >> 32) * limit) >> 32);
}

static void open_connection(std::size_t slot) {
  Traffic& t = traffic[slot];
  t.last_seen = now;
  t.credit = 4000;
  t.bytes_in = t.packets = 0;
  t.weight = static_cast<std::uint8_t>(1 + random_below(8));
  t.open = true;

  Client& c = clients[slot];
  c.user_id = random_below(5000000);
  c.session_key[0] = c.user_id * 0x9e3779b97f4a7c15u;
  c.session_key[1] = c.session_key[0] ^ now;
  c.port = static_cast<std::uint16_t>(1024 + random_below(60000));
  c.cipher = static_cast<std::uint16_t>(random_below(6));
  c.opened = now;
  c.bad_packets = c.last_error = 0;
  c.times_used++;
  std::snprintf(c.host, sizeof c.host, "host%u.example.net", random_below(70000));
}

static void close_connection(std::size_t slot) {
  const Client& c = clients[slot];
  traffic[slot].open = false;
  closed++;
  log_sum = log_sum * 31 + c.user_id + c.port + c.bad_packets + (now - c.opened);
  log_sum = log_sum * 33 + traffic[slot].bytes_in + static_cast<unsigned char>(c.host[5]);
}

static void receive(std::uint32_t slot, std::int32_t size) {
  Traffic& t = traffic[slot];
  if (!t.open) open_connection(slot);
  if (t.credit < size) {
    dropped++;
    return;
  }
  t.last_seen = now;
  t.credit -= size;
  t.bytes_in += static_cast<std::uint32_t>(size);
  t.packets++;
  if (random_below(500) == 0) {
    clients[slot].bad_packets++;
    clients[slot].last_error = static_cast<std::uint32_t>(size) % 16;
  }
}

static void sweep() {
  now++;
  for (std::size_t i = 0; i < traffic.size(); i++) {
    Traffic& t = traffic[i];
    if (t.open && now - t.last_seen > 60)
      close_connection(i);
    else if (t.open && t.credit < 4000)
      t.credit = std::min(4000, t.credit + 25 * t.weight);
  }
}

int main(int argc, char** argv) {
  const auto slots = static_cast<std::uint32_t>(argc > 1 ? std::atol(argv[1]) : 1000000);
  traffic.resize(slots);
  clients.resize(slots);
  for (std::uint32_t i = 0; i < slots; i++) open_connection(i);

  for (int batch = 0; batch < 200; batch++) {
    for (std::uint32_t i = 0; i < slots / 8; i++) {
      std::uint32_t slot = random_below(slots);
      if (random_below(2) == 0)  // half go to an eighth of the slots
        slot -= slot % 8;
      receive(slot, static_cast<std::int32_t>(40 + random_below(1400)));
    }
    sweep();
  }

  std::uint64_t sum = log_sum + closed * 17 + dropped;
  for (std::uint32_t i = 0; i < slots; i++) {
    const Traffic& t = traffic[i];
    const Client& c = clients[i];
    sum = sum * 7 + t.bytes_in + t.packets + t.last_seen;
    sum += c.session_key[1] + c.last_error + c.times_used + c.cipher;
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
