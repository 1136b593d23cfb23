"""The type and field of each access, as the compiler pass knows them."""

from __future__ import annotations

import pytest
from counting import Counts

C_PROGRAM = """
#include <stdlib.h>
#include <string.h>
struct pair { long low, high; };
struct item {
  struct item* next;
  unsigned long key;
  struct pair range;
  char payload[48];
  unsigned value, hits;
};
typedef struct { long first; struct pair pairs[3]; double last; } record;
union either { long number; struct pair both; };
struct holder { union either what; struct item* items; record* records; };

#define APART __attribute__((noinline))
APART unsigned long walk(struct item* p) {
  unsigned long sum = 0;
  for (; p; p = p->next) sum += p->key;
  return sum;
}
APART void update(struct item* p) { p->range.high++; p->value += p->hits; }
APART void fill(struct item* p, long n) { p->payload[n] = 1; }
APART void clear(struct item* p) { memset(p, 0, sizeof *p); }
APART long inside(struct holder* h, long i) { return h->items[i].range.low; }
APART double last(record* r, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += r[i].last;
  return sum;
}
APART long nested(record* r, long i, long j) { return r[i].pairs[j].high; }
APART long both(struct holder* h) { return h->what.both.high; }
APART long plain(long* p, long i) { return p[i]; }
int main(void) {
  struct item* p = calloc(1, sizeof *p);
  record* r = calloc(4, sizeof *r);
  struct holder* h = calloc(1, sizeof *h);
  h->items = p;
  update(p), fill(p, 3);
  long sum = (long)walk(p) + inside(h, 0) + (long)last(r, 4) + nested(r, 1, 2) + both(h);
  clear(p);
  return (int)(sum + plain((long*)r, 1)) - (int)sum;
}
"""

C_FIELDS = {
    "walk": {"struct item|88|next|0|8", "struct item|88|key|8|8"},
    "update": {
        "struct item|88|range.high|24|8",
        "struct item|88|value|80|4",
        "struct item|88|hits|84|4",
    },
    "fill": {"struct item|88|payload|32|48"},
    "clear": {"struct item|88||0|88"},
    "inside": {"struct holder|32|items|16|8", "struct item|88|range.low|16|8"},
    "last": {"record|64|last|56|8"},
    "nested": {"record|64|pairs|8|48"},
    "both": {"struct holder|32|what.both.high|8|8"},
    "plain": set(),
}


@pytest.mark.parametrize("options", [(), ("-O0",), ("-fno-strict-aliasing",)], ids=str)
def test_fields_of_c(counts: Counts, options: tuple[str, ...]) -> None:
    sites = counts.of_text(C_PROGRAM, *options)
    for function, expected in C_FIELDS.items():
        lines = [line for site in sites if site.function == function for line in lines_of(site)]
        assert {line.rsplit("|", 1)[0] for line in lines} == expected, function


def test_merged_accesses_are_named_in_the_order_of_their_first_touch(counts: Counts) -> None:
    sites = counts.of_text(C_PROGRAM, "-fno-unroll-loops")
    (walk,) = [site for site in sites if site.function == "walk"]
    assert lines_of(walk)[0] == "struct item|88|key|8|8|1"
    assert lines_of(walk)[1] == "struct item|88|next|0|8|1"


POINTERS_TO_FIELDS = """
#include <stdlib.h>
struct node { long key; struct node *left, *right; long value; };
struct pair { long low, high; };
struct both { long kind; struct pair first, second; };
#define APART __attribute__((noinline))
APART struct node* find(struct node** at, long key) {
  while (*at && (*at)->key != key) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  return *at;
}
APART long high(struct both* b, volatile long* kind) {
  return *(*kind ? &b->first.high : &b->second.high);
}
APART long kind_or_low(struct both* b, volatile long* kind) {
  return *(*kind ? &b->kind : &b->first.low);
}
APART long low_or_kind(struct both* b, volatile long* kind) {
  return *(*kind ? &b->first.low : &b->kind);
}
int main(void) {
  struct node* root = calloc(1, sizeof *root);
  struct both* b = calloc(1, sizeof *b);
  long others = kind_or_low(b, &b->second.low) + low_or_kind(b, &b->second.low);
  return find(&root, 1) != 0 || high(b, &b->kind) + others != 0;
}
"""


def test_a_pointer_to_one_of_several_fields_touches_each_perhaps(counts: Counts) -> None:
    sites = counts.of_text(POINTERS_TO_FIELDS, "-fno-unroll-loops")

    def own(function: str) -> set[str]:
        return {line for site in sites if site.function == function for line in lines_of(site)}

    node = "struct node|32"
    assert {f"{node}|left|8|8|0", f"{node}|right|16|8|0"} < own("find")
    assert own("find") <= {
        f"{node}|key|0|8|1",
        f"{node}|left|8|8|0",
        f"{node}|right|16|8|0",
    }
    both = "struct both|40"
    assert own("high") == {f"{both}|first.high|16|8|0", f"{both}|second.high|32|8|0"}
    for function in ("kind_or_low", "low_or_kind"):
        assert own(function) == {f"{both}|kind|0|8|0", f"{both}|first.low|8|8|0"}


CXX_PROGRAM = """
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>
namespace shop {
struct Base { virtual ~Base() {} long id = 0; };
template <class T> struct Order : Base { T price = 0; std::string name; T total = 0; };
__attribute__((noinline)) double price(const std::vector<Order<double>>& orders, long i) {
  return orders[i].price;
}
__attribute__((noinline)) long id(const Order<double>* order) { return order->id; }
__attribute__((noinline)) long letters(const Order<double>& order) { return order.name.size(); }
__attribute__((noinline)) double sum(const std::unordered_map<long, Order<double>*>& all) {
  double sum = 0;
  for (const auto& [key, order] : all) sum += order->total;
  return sum;
}
}
int main() {
  std::vector<shop::Order<double>> orders(10);
  std::unordered_map<long, shop::Order<double>*> all;
  for (auto& order : orders) all[order.id] = &order;
  std::printf("%g\\n", shop::price(orders, 3) + shop::id(&orders[2]) + shop::letters(orders[1]) +
                          shop::sum(all));
}
"""


def test_fields_of_cxx_have_scopes_bases_and_arguments_of_templates(counts: Counts) -> None:
    sites = counts.of_text(CXX_PROGRAM, language="c++")

    def own(function: str) -> set[str]:
        lines = [line for site in sites if function in site.function for line in lines_of(site)]
        return {line for line in lines if line.startswith("shop::")}

    order = "shop::Order<double>|64"
    assert own("price") == {f"{order}|price|16|8|1"}
    assert own("2id") == {f"{order}|id|8|8|1"}
    assert own("4sizeEv") == {f"{order}|name|24|32|1"}
    assert own("sum") == {f"{order}|total|56|8|1"}


def test_only_line_tables_stay_where_no_types_were_asked_for(counts: Counts) -> None:
    counts.of_text(C_PROGRAM)
    assert b"payload" not in debug_strings(counts)
    counts.of_text(C_PROGRAM, "-g")
    assert b"payload" in debug_strings(counts)


def debug_strings(counts: Counts) -> bytes:
    """Return the program's bytes without what the pass wrote."""
    data = (counts.folder / "program").read_bytes()
    return data.replace(b"\tpayload\t", b"")


def lines_of(site: object) -> list[str]:
    """Return a site's fields, one each."""
    return [line for line in site.fields.split(";") if line]  # type: ignore[attr-defined]
