// What lesson 26 writes for the gallery's page: each mechanism can be turned, its usual numbers are
// the list's, and its maps are those of the mechanism with the numbers that stand beside them.
#include "lessons/26_programmable/gallery_maps.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/core.hpp"
#include "lessons/26_programmable/gallery.hpp"
#include "lessons/26_programmable/gallery_element.hpp"
#include "lessons/26_programmable/gallery_ops.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

using namespace tapestry;

namespace {

Tensor weights(const kit::Mechanism& mechanism) {
  const Dims shape{1, mechanism.heads, 20, mechanism.width};
  return kit::weights_of(mechanism, random_normal(shape, 1, DType::f64), random_normal(shape, 2, DType::f64),
                         kit::first_values(mechanism, 3, DType::f64));
}

}  // namespace

TEST_CASE("the usual numbers of what can be turned are the gallery's, and others give other maps",
          "[gallery]") {
  std::set<std::string> turned;
  for (const lesson26::AdjustableMechanism& adjustable : lesson26::adjustable_mechanisms()) {
    const kit::Mechanism usual = adjustable.make(adjustable.usual());
    CAPTURE(usual.name);
    turned.insert(usual.name);
    const auto& all = lesson26::gallery();
    const auto entry =
        std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.mechanism.name == usual.name; });
    REQUIRE(entry != all.end());
    CHECK(kit::largest(weights(usual) - weights(entry->mechanism)) == 0);
    for (std::size_t k = 0; k < adjustable.numbers.size(); ++k) {
      const lesson26::AdjustableNumber& number = adjustable.numbers[k];
      CAPTURE(number.name);
      for (const double other : {number.least, number.most}) {
        std::vector<double> numbers = adjustable.usual();
        numbers[k] = other;
        const double apart = kit::largest(weights(adjustable.make(numbers)) - weights(usual));
        CHECK(std::isfinite(apart));
        CHECK((apart > 1e-3 || other == number.usual));
      }
    }
  }
  for (const lesson26::GalleryEntry& entry : lesson26::gallery()) {
    CAPTURE(entry.mechanism.name, entry.level);
    CHECK(turned.count(entry.mechanism.name) == 1);
  }
}

TEST_CASE("the gallery's file has maps of a window of 6 and of 12", "[gallery]") {
  const kit::Scratch scratch;
  lesson26::save_gallery(scratch.path("gallery.json"), 1);
  std::ifstream in(scratch.path("gallery.json"));
  const auto all = nlohmann::json::parse(in);
  const auto& entry = all["entries"][1];
  REQUIRE(entry["name"] == "sliding window");
  REQUIRE(entry["maps"].size() == 3);
  const auto seen = [&](std::size_t map) {
    const auto& row = entry["maps"][map]["weights"][19];
    return std::count_if(row.begin(), row.end(), [](const auto& weight) { return weight != 0; });
  };
  CHECK(entry["maps"][1]["random"] == false);
  CHECK(entry["maps"][1]["weights"][19][19] == 1667);  // a sixth
  CHECK(seen(0) == 6);
  CHECK(entry["maps"][2]["numbers"][0] == 12);
  CHECK(seen(2) == 12);
}

TEST_CASE("another sink is e^c among the scores, which no key gets", "[gallery]") {
  const auto& all = lesson26::adjustable_mechanisms();
  const auto sink =
      std::find_if(all.begin(), all.end(), [](const auto& t) { return t.make(t.usual()).name == "sink"; });
  REQUIRE(sink != all.end());
  const Dims shape{1, 4, 20, 16};
  const Tensor q = random_normal(shape, 1, DType::f64), k = random_normal(shape, 2, DType::f64);
  const Tensor terms = where(Mask::causal(20, 20), exp(matmul(q, transpose(k)) / 4), zeros({}, DType::f64));
  for (const double c : {-2.0, 0.0, 3.0}) {
    const kit::Mechanism mechanism = sink->make({c});
    const Tensor found = kit::weights_of(mechanism, q, k, kit::first_values(mechanism, 1, DType::f64));
    CHECK(kit::largest(found - terms / (sum(terms, {-1}, Keep::yes) + std::exp(c))) < 1e-12);
  }
}

TEST_CASE("a sink of a mechanism may have no learned score", "[gallery]") {
  const Dims shape{1, 4, 20, 16};
  const Tensor q = random_normal(shape, 1, DType::f64), k = random_normal(shape, 2, DType::f64);
  const kit::Mechanism fixed{
      .name = "fixed", .mask = BlockMask::causal, .sink = [](const std::vector<Tensor>&) { return true; }};
  const Tensor expected = kit::weights_of(lesson26::sink(), q, k, {zeros({4}, DType::f64)});
  CHECK(kit::largest(kit::weights_of(fixed, q, k, {}) - expected) == 0);
}

TEST_CASE("the numbers of selective attention and of the output gate", "[gallery]") {
  const Tensor plain = weights(lesson26::causal());
  CHECK(kit::largest(weights(lesson26::selective(0)) - plain) < 1e-12);
  CHECK(kit::largest(weights(lesson26::output_gate(40)) - plain) < 1e-12);
  CHECK(kit::largest(weights(lesson26::output_gate(-40))) < 1e-12);
}
