/* Persists through libpmem, without its headers: the run time counts the calls. Arguments: the
 * file, rounds. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void pmem_persist(const void* address, size_t size);
void* pmem_memcpy_persist(void* to, const void* from, size_t size);

int main(int count, char** words) {
  if (count != 3) return 2;
  enum { SIZE = 1 << 16 };
  const int file = open(words[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, SIZE) != 0) return 1;
  char* pool = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 1;
  for (long left = atol(words[2]); left > 0; --left) {
    *(long*)(pool + 8) = left;
    pmem_persist(pool + 8, sizeof(long));
    pmem_memcpy_persist(pool + 4096 + 8, pool + 8192, 1000);
  }
  return 0;
}
