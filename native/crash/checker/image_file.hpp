// The image's file, as the checker's process knows it.
#pragma once

#include <sys/stat.h>

namespace nearfar::crash {

// Whether a status of the image's file differs from another one in what a checker can change.
bool differs(const struct stat& a, const struct stat& b);

// From now on, a descriptor that the checker opened to read the image stays open for the next
// check, since to open it can take longer than a check. `image`: the image's status now.
void keep_open(const struct stat& image);
// Whether the file is the image by that status; stores its present status.
bool is_known_image(int file, struct stat& status);

}  // namespace nearfar::crash
