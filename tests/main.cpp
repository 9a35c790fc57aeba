// Catch2 3 brings its own main (Catch2WithMain); version 2 asks for one.
#if __has_include(<catch2/catch.hpp>)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // std::regex inside Catch2, with sanitizers
#endif
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
