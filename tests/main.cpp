// The main function of every test program (Catch2 3 brings its own).
#define CATCH_CONFIG_MAIN
#include "tests/catch.hpp"
