// Decomposition and lower case, by hand.
#include "nn/text/unicode.hpp"

#include "tests/catch.hpp"

using namespace tapestry;

TEST_CASE("unicode: characters are taken apart, marks put in order", "[text]") {
  CHECK(decomposed(U"a\u00E9\uD55C") == U"ae\u0301\u1112\u1161\u11AB");
  CHECK(decomposed(U"\u1E69") == U"s\u0323\u0307");  // below (220) before above (230)
  CHECK(decomposed(U"s\u0307\u0323 \u0301") == U"s\u0323\u0307 \u0301");
  CHECK(decomposed(U"q\u0301\u0300") == U"q\u0301\u0300");                // equal classes stay
  CHECK(decomposed(U"a\u0301\u034F\u0323") == U"a\u0301\u034F\u0323");    // class 0 stands between
  CHECK(decomposed(U"\uFB01\u2126\U0002F800") == U"\uFB01\u03A9\u4E3D");  // canonical: ligatures stay
  CHECK(decomposed(U"\u0378\U0010FFFF") == U"\u0378\U0010FFFF");
  CHECK(decomposed(U"").empty());
}

TEST_CASE("unicode: lower case, one character at a time", "[text]") {
  std::u32string out;
  for (const char32_t point : std::u32string(U"AZ[\u00C4\u1E9E\u03A3\u0130\u01C4\u00DF\u10A0\u4E00"))
    append_lower_case(out, point);
  CHECK(out == U"az[\u00E4\u00DF\u03C3i\u0307\u01C6\u00DF\u2D00\u4E00");
}
