/* Marks phases of a program for nearfar. C and C++, no dependency; where the program is not run
 * by `nearfar profile`, a mark is one test of a null pointer.
 *
 *   #include <nearfar/mark.h>
 *   NEARFAR_BEGIN("lookup");
 *   for (...) ...
 *   NEARFAR_END("lookup", number_of_lookups);
 *
 * Phases are process-wide and do not nest: a begin ends the phase before it. NEARFAR_END's second
 * argument is the number of operations done, or 0 where that means nothing.
 */
#ifndef NEARFAR_MARK_H
#define NEARFAR_MARK_H

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void nearfar_phase_begin(const char* name);
__attribute__((weak)) void nearfar_phase_end(const char* name, double operations);
#ifdef __cplusplus
}
#endif

#define NEARFAR_BEGIN(name)                             \
  do {                                                  \
    if (nearfar_phase_begin) nearfar_phase_begin(name); \
  } while (0)
#define NEARFAR_END(name, operations)                                     \
  do {                                                                    \
    if (nearfar_phase_end) nearfar_phase_end(name, (double)(operations)); \
  } while (0)

#endif
