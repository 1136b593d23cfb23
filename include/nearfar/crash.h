/* Tells `nearfar crash` where operations begin and end. C and C++, nothing to link: where the
 * program does not run under it, a mark is one test of a null pointer.
 *
 *   #include <nearfar/crash.h>
 *   NEARFAR_CRASH_BEGIN(i);
 *   insert(map, keys[i]);
 *   NEARFAR_CRASH_END(i);      // what it did must survive from here on
 *
 * The end of an operation is a point where power is cut, also without a fence. The checker may ask
 * how far the program was: `--check 'CHECK {pool} {done} {begun}'` gets the numbers of the last
 * operation that ended and of the last that began, -1 for none. Operations do not nest; one thread.
 */
#ifndef NEARFAR_CRASH_H
#define NEARFAR_CRASH_H

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void nearfar_crash_begin(unsigned long operation);
__attribute__((weak)) void nearfar_crash_end(unsigned long operation);
#ifdef __cplusplus
}
#endif

#define NEARFAR_CRASH_BEGIN(operation)                                        \
  do {                                                                        \
    if (nearfar_crash_begin) nearfar_crash_begin((unsigned long)(operation)); \
  } while (0)
#define NEARFAR_CRASH_END(operation)                                      \
  do {                                                                    \
    if (nearfar_crash_end) nearfar_crash_end((unsigned long)(operation)); \
  } while (0)

#endif
