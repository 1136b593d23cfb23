# Compiler settings of the core and of companions with native parts. NEARFAR_SOURCE is the checkout.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

option(NEARFAR_TESTS "Build the native tests" OFF)
option(NEARFAR_SANITIZE "Build the native core with address and undefined-behaviour sanitizers" OFF)
if(NEARFAR_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

add_library(nearfar_warnings INTERFACE)
target_compile_options(nearfar_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion
                                                  -Wno-sign-conversion)
target_include_directories(nearfar_warnings INTERFACE ${NEARFAR_SOURCE}/native
                                                      ${NEARFAR_SOURCE}/include)

option(NEARFAR_BATCHES "Compile several small files at once" ON)

# Compiles up to 8 files of a target at once, because the headers of the C++ library take most of
# the compile time of small files. Names in the files' anonymous namespaces must be unique there.
function(nearfar_compile_in_batches target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${NEARFAR_BATCHES} UNITY_BUILD_BATCH_SIZE 8)
endfunction()
