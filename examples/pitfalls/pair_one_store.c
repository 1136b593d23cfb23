/* Wrong: both numbers change by one vector store, into which compilers may also merge two
 * assignments. Only aligned words of 8 bytes reach memory atomically. */
#include "pair.h"

void change(struct pairs* all, uint64_t from) {
  set(&all->pairs[0], from);
  pmem_persist(&all->pairs[0], sizeof all->pairs[0]);
}
