// A settings file that is replaced as a whole: after a power cut it is the old or the new one.
#include "data.h"

enum { settings_bytes = 3000 };

static void replace(const char* text, unsigned bytes);  // the wrong programs differ here

static void settings(int number, char* text) {
  for (int i = 0; i < settings_bytes; ++i) text[i] = (char)('a' + (i + number) % 26);
}

static void run(void) {
  char text[settings_bytes];
  for (int number = 0; number < 3; ++number) {
    settings(number, text);
    replace(text, settings_bytes);
    acknowledge(number);
  }
}

static int check(int last) {
  char text[settings_bytes];
  char now[settings_bytes + 1];
  const int file = open("settings", O_RDONLY);
  if (file < 0) return last < 0 ? 0 : refuse("no settings after", last);
  const long bytes = read(file, now, sizeof now);
  for (int number = last < 0 ? 0 : last; number <= last + 1; ++number) {
    settings(number, text);
    if (bytes == settings_bytes && memcmp(text, now, settings_bytes) == 0) return 0;
  }
  return refuse("neither the old nor the new settings after", last);
}
