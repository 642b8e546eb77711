// The zoo: every score with every normaliser over many shapes, tiles with every kind of score, and positions,
// against numbers that tests/golden/make_zoo.py computes from formulas, in another language and without
// autodiff.
#include <map>
#include <numeric>
#include <set>

#include "core/attention/block_mask.hpp"
#include "core/attention/score_lambda.hpp"
#include "nn/attention/attention.hpp"
#include "nn/positions/positions.hpp"
#include "tests/nn/attention/score_table.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

/// Element n of tensor t, as make_zoo.py has it.
double value(Size t, Size n) {
  return static_cast<double>((n * n * 31 + n * 7919 + t * 104729 + 17) % 2003) / 1001.0 - 1.0;
}

Tensor values(Size t, const Dims& shape) {
  std::vector<double> all(static_cast<std::size_t>(shape.count()));
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = value(t, static_cast<Size>(n));
  return tensor(all, shape, DType::f64);
}

constexpr std::size_t kSums = 3;

/// A tensor's digest: Σ x_n · value(1000 + k, n).
std::vector<double> digest(const Tensor& x) {
  std::vector<double> found(kSums, 0.0);
  const std::vector<double> all = x.to_vector();
  for (std::size_t n = 0; n < all.size(); ++n)
    for (std::size_t k = 0; k < kSums; ++k)
      found[k] += all[n] * value(1000 + static_cast<Size>(k), static_cast<Size>(n));
  return found;
}

enum Kind { kNone, kLengths, kCausal, kWindow };

/// A case's name in parts, its sizes, and the digests that are wanted.
struct ZooCase {
  std::string name;
  std::vector<std::string> parts;
  std::map<std::string, Size> sizes;
  std::vector<double> wanted;

  Size operator()(const char* size) const { return sizes.at(size); }
  bool with_heads() const { return (*this)("groups") > 0; }
  Size heads() const { return std::max<Size>(1, (*this)("groups") * (*this)("heads")); }

  Tensor input(Size t, const char* label, Size rows, Size width) const {
    const Size batch = (*this)("batch"), groups = (*this)("groups"), heads = (*this)("heads");
    if (!with_heads()) return variable(values(t, {batch, rows, width}), label);
    const bool shared = t > 1 && (groups > 1 || heads == 5);
    return variable(values(t, {batch, groups, shared ? 1 : heads, rows, width}), label);
  }
  Tensor query() const { return input(1, "query", (*this)("queries"), (*this)("query_width")); }
  Tensor key() const { return input(2, "key", (*this)("keys"), (*this)("key_width")); }
  Tensor value_input() const { return input(3, "value", (*this)("keys"), (*this)("value_width")); }

  ValidLengths lengths() const { return ValidLengths{(*this)("a"), (*this)("b"), (*this)("c")}; }
  /// (Tq, Tk), or with a batch and as many axes as the scores.
  Mask mask() const {
    const Size queries = (*this)("queries"), keys = (*this)("keys");
    switch ((*this)("mask")) {
      case kCausal:
        return Mask::causal(queries, keys);
      case kWindow:
        return Mask::window(queries, keys, (*this)("a"), (*this)("b"));
      case kLengths: {
        const Mask rows = lengths().mask(keys);  // (batch, 1, keys)
        const Size batch = (*this)("batch");
        return with_heads() ? rows.reshape({batch, 1, 1, 1, keys}) : rows;
      }
      default:
        return {};
    }
  }
  BlockMask tiles() const {
    const Size queries = (*this)("queries"), keys = (*this)("keys");
    switch ((*this)("mask")) {
      case kCausal:
        return BlockMask::causal(queries, keys);
      case kWindow:
        return BlockMask::window(queries, keys, (*this)("a"), (*this)("b"));
      case kLengths: {
        const std::vector<Size> lengths{(*this)("a"), (*this)("b"), (*this)("c")};
        return BlockMask::where(
            queries, keys, [&](QueryKey p) { return p.j < lengths[static_cast<std::size_t>(p.b)]; },
            (*this)("batch"));
      }
      default:
        return {};
    }
  }
};

constexpr const char* kFields[] = {"batch", "groups", "heads", "queries", "keys", "value_width",
                                   "third", "mask",   "a",     "b",       "c"};

std::vector<ZooCase> cases(const std::string& kind) {
  static const SafeTensors file = read_safetensors(test::golden_folder() / "zoo.safetensors");
  std::vector<ZooCase> found;
  for (const auto& [name, numbers] : file.tensors) {
    if (name.compare(0, kind.size() + 1, kind + "/") != 0) continue;
    ZooCase one{name, {}, {}, numbers.to_vector()};
    for (std::size_t from = 0, end = 0; from <= name.size(); from = end + 1) {
      end = std::min(name.find('/', from), name.size());
      one.parts.push_back(name.substr(from, end - from));
    }
    const std::vector<double> shape = file.at("shapes/" + kind + "/" + one.parts.back()).to_vector();
    for (std::size_t i = 0; i < shape.size(); ++i) one.sizes[kFields[i]] = static_cast<Size>(shape[i]);
    one.sizes["query_width"] = static_cast<Size>(one.wanted.at(0));
    one.sizes["key_width"] = static_cast<Size>(one.wanted.at(1));
    one.wanted.erase(one.wanted.begin(), one.wanted.begin() + 2);
    found.push_back(std::move(one));
  }
  return found;
}

/// Runs f and compares the digests of its result and of the gradients with what is wanted.
template <class F>
void check(const ZooCase& one, std::vector<Tensor> leaves, const char* path, const F& f) {
  INFO(one.name << ", " << path);
  for (Tensor& leaf : leaves) leaf.clear_grad();
  std::vector<std::vector<double>> found;
  {
    Tape tape;
    const Tensor output = f();
    found.push_back(digest(output));
    tape.backward(sum(output * values(50, output.shape())));
  }
  for (const Tensor& leaf : leaves)  // no gradient at all: zeros
    found.push_back(leaf.has_grad() ? digest(leaf.grad()) : std::vector<double>(kSums, 0.0));
  REQUIRE(one.wanted.size() == kSums * found.size());
  for (std::size_t t = 0; t < found.size(); ++t) {
    INFO((t == 0 ? std::string("output") : "gradient of " + leaves[t - 1].name()));
    double largest = 1e-3;
    for (std::size_t k = 0; k < kSums; ++k) largest = std::max(largest, std::abs(one.wanted[kSums * t + k]));
    for (std::size_t k = 0; k < kSums; ++k)
      CHECK(std::abs(found[t][k] - one.wanted[kSums * t + k]) <= 1e-11 * largest);
  }
}

/// Gives the parameters their values, in the order of their names; returns them in that order.
std::vector<Tensor> fill(Module& layer) {
  State state = layer.state();
  Size t = 4;
  for (auto& [name, parameter] : state) parameter = values(t++, parameter.shape());
  layer.load_state(state);
  std::vector<Tensor> leaves = layer.parameters();
  std::sort(leaves.begin(), leaves.end(),
            [](const Tensor& a, const Tensor& b) { return a.name() < b.name(); });
  return leaves;
}

std::vector<Tensor> joined(std::vector<Tensor> all, const std::vector<Tensor>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Normaliser normaliser(const std::string& name) {
  static const std::map<std::string, Normaliser> all = {
      {"softmax", softmax_weights},     {"temperature", softmax_with_temperature(0.7)},
      {"sparsemax", sparsemax_weights}, {"entmax15", entmax15_weights},
      {"sigmoid", sigmoid_weights},     {"sink", sink_weights},
      {"soft_cap", soft_capped(1.3)},   {"hardmax", hardmax_weights}};
  return all.at(name);
}

ScoreFactory score(const ZooCase& one) {
  const std::string& name = one.parts[1];
  const bool fixed = name == "nadaraya_watson_fixed",
             by_place = name == "location" || name == "fully_connected";
  for (const table::ScoreRow& row : table::score_rows())
    if (row.name == (fixed ? "nadaraya_watson" : name) && row.golden.empty() == fixed)
      return row.make({one("query_width"), one("key_width"), by_place ? one("keys") + 2 : one("third")});
  fail("the table of scores has no {}", name);
}

AttendOptions options_of(const ZooCase& one, const Tensor& w) {
  const std::string& kind = one.parts[1];
  const auto ahead = static_cast<double>(one("keys") - one("queries"));
  AttendOptions options{.mask = one.tiles()};
  if (kind == "scale") options.scale = 0.3;
  if (kind == "sink") options.sink = true;
  if (kind == "alibi")
    options.score_mod = score_mod([ahead](auto s, auto at) { return s - 0.25 * abs(at.i + ahead - at.j); });
  if (kind == "cap") options.score_mod = score_mod([](auto s, auto) { return 1.3 * tanh(s / 1.3); });
  if (kind == "slope")
    options.score_mod = score_mod(
        [ahead](auto s, auto at, auto slope) { return s - slope(at.h) * (at.i + ahead - at.j) * 0.05; },
        learned(w));
  if (kind == "table")
    options.score_mod =
        score_mod([](auto s, auto at, auto bias) { return s + bias(at.h, at.j); }, learned(w));
  if (kind == "warm")
    options.score_mod =
        score_mod([](auto s, auto, auto warm) { return s * exp(warm()) + 0.1 * s * s; }, learned(w));
  if (kind == "pair_additive")
    options.pair_score = pair_score([](auto q, auto k, auto v) { return v * tanh(q + k); }, learned(w));
  if (kind == "pair_distance")
    options.pair_score =
        pair_score([](auto q, auto k, auto v) { return -v * (q - k) * (q - k); }, learned(w));
  return options;
}

/// The shape of what is learned besides; none: nothing is.
std::optional<Dims> learned(const ZooCase& one) {
  const std::string& kind = one.parts[1];
  if (kind == "slope") return Dims{one.heads()};
  if (kind == "table") return Dims{one.heads(), one("keys")};
  if (kind == "warm") return Dims{};
  if (kind == "pair_additive" || kind == "pair_distance") return Dims{one("query_width")};
  return {};
}

PositionScheme scheme(const std::string& name) {
  static const std::map<std::string, PositionScheme> all = {
      {"shaw", shaw(2)}, {"t5", t5_buckets(8, 12)}, {"alibi", alibi()}, {"rotary", rotary()}};
  return all.at(name);
}

}  // namespace

TEST_CASE("the zoo: every score with every normaliser over many shapes") {
  std::set<std::string> scores;
  for (const ZooCase& one : cases("layer")) {
    scores.insert(one.parts[1]);
    Attention layer(score(one), {.normalise = normaliser(one.parts[2])});
    layer.initialise(1, DType::f64);
    const std::vector<Tensor> parameters = fill(layer);
    const Tensor q = one.query(), k = one.key(), v = one.value_input();
    check(one, joined({q, k, v}, parameters), "layer", [&] { return layer(q, k, v, one.mask()).context; });
  }
  CHECK(scores.size() == 11);
}

TEST_CASE("the zoo: tiles and plain ops with every kind of score") {
  std::set<std::string> kinds;
  for (const ZooCase& one : cases("tiles")) {
    kinds.insert(one.parts[1]);
    const Tensor q = one.query(), k = one.key(), v = one.value_input();
    std::vector<Tensor> leaves{q, k, v};
    if (const auto shape = learned(one)) leaves.push_back(variable(values(4, *shape), "w"));
    const AttendOptions options = options_of(one, leaves.back());
    check(one, leaves, "tiles", [&] { return attend(q, k, v, options); });
    check(one, leaves, "by ops", [&] { return attend_by_ops(q, k, v, options); });
  }
  CHECK(kinds.size() == 10);
}

TEST_CASE("the zoo: positions, in the layer and in tiles") {
  std::set<std::string> kinds;
  for (const ZooCase& one : cases("positions")) {
    kinds.insert(one.parts[1]);
    Attention layer(scaled_dot(), {.positions = scheme(one.parts[1]),
                                   .pair_shape = {.heads = one.heads(),
                                                  .head_width = one("query_width"),
                                                  .value_width = one("value_width"),
                                                  .causal = one("mask") == kCausal}});
    layer.initialise(1, DType::f64);
    const Tensor q = one.query(), k = one.key(), v = one.value_input();
    const std::vector<Tensor> leaves = joined({q, k, v}, fill(layer));
    check(one, leaves, "layer", [&] { return layer(q, k, v, one.mask()).context; });
    check(one, leaves, "context", [&] {
      ScoreState state;
      return layer.context(q, layer.prepare(k, v, one.mask()), state);
    });
  }
  CHECK(kinds.size() == 4);
}
