/* Marks phases of a program for nearfar. For C and C++, without dependencies. Outside `nearfar
 * profile`, a mark is one test of a null pointer.
 *
 *   #include <nearfar/mark.h>
 *   NEARFAR_BEGIN("lookup");
 *   for (...) ...
 *   NEARFAR_END("lookup", number_of_lookups);
 *
 * Phases are process-wide and do not nest: a begin ends the previous phase. NEARFAR_END's second
 * argument is the number of operations done, or 0 if that has no meaning.
 *
 *   void add_user(...) {
 *     NEARFAR_TAG("users");
 *     node = allocate(sizeof *node);
 *   }
 *
 * What this thread allocates until the end of the scope, called functions included, is a separate
 * object in the profile, named by its site and the tag. Tags nest: the innermost counts.
 *
 *   void* take(struct pool* pool, size_t bytes) {
 *     void* piece = ...;
 *     NEARFAR_ARENA(pool->name, piece, bytes);
 *     return piece;
 *   }
 *
 * A piece of memory that the program divides itself (an arena, a pool, a slab) belongs from now on
 * to an object named by the memory's site and the name, or with a null name by its size class.
 * `nearfar run` places the memory as a whole.
 */
#ifndef NEARFAR_MARK_H
#define NEARFAR_MARK_H

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void nearfar_phase_begin(const char* name);
__attribute__((weak)) void nearfar_phase_end(const char* name, double operations);
/* Tags this thread's allocations from now on; null: no tag. Returns the previous tag or null. */
__attribute__((weak)) const char* nearfar_tag_set(const char* name);
__attribute__((weak)) void nearfar_arena(const char* name, const void* begin, unsigned long bytes);
#ifdef __cplusplus
}
#endif

__attribute__((unused)) static inline void nearfar_tag_restore(const char** before) {
  if (nearfar_tag_set) nearfar_tag_set(*before);
}
#define NEARFAR_TAG(name)                                                                \
  const char* nearfar_tag_before __attribute__((cleanup(nearfar_tag_restore), unused)) = \
      nearfar_tag_set ? nearfar_tag_set(name) : (const char*)0

#define NEARFAR_ARENA(name, begin, bytes)                                  \
  do {                                                                     \
    if (nearfar_arena) nearfar_arena(name, begin, (unsigned long)(bytes)); \
  } while (0)

#define NEARFAR_BEGIN(name)                             \
  do {                                                  \
    if (nearfar_phase_begin) nearfar_phase_begin(name); \
  } while (0)
#define NEARFAR_END(name, operations)                                     \
  do {                                                                    \
    if (nearfar_phase_end) nearfar_phase_end(name, (double)(operations)); \
  } while (0)

#endif
