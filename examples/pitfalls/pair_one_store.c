/* Wrong: both numbers change by one vector store. Only aligned words of 8 bytes reach memory whole;
 * compilers make such stores of two assignments, too. */
#include "pair.h"

void change(struct pairs* all, uint64_t from) {
  set(&all->pairs[0], from);
  pmem_persist(&all->pairs[0], sizeof all->pairs[0]);
}
