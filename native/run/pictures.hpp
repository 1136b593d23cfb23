// When the verb is asked to look where everything is: it looks from time to time itself, but a
// program may be quicker.
#pragma once

#include <cstddef>

namespace nearfar::run {

// Whenever the heap has grown by so much.
void picture_after_growth();
// What is there now will soon not be: before the first large block is given back after growth,
// whose picture was taken before the program had touched what it got.
void picture_before_free(std::size_t bytes);
// Something large was mapped: the next that goes is worth a picture.
void picture_is_due();

}  // namespace nearfar::run
