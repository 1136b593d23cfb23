// The system calls at which the program stops for the recorder; all others run at full speed.
#pragma once

namespace nearfar::crash::files {

// Installs the filter in this process and its future children; returns false with errno set.
bool install_filter();

}  // namespace nearfar::crash::files
