// 07 masks, parts 4 and 5: the clinic, where seven broken attentions are trained beside a sound one, and the
// check that catches each.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/07_masks/masks.hpp"
#include "lessons/07_masks/pair_strings.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"

using namespace tapestry;
using Ids = std::vector<std::int64_t>;

namespace masks {
namespace {

// ---- 4. The clinic: one sound attention, seven broken ones ------------------------------------------------
//
// The task is retrieval. A string is a row of pairs (key, value); within one string a key always has the same
// value. At each pair the model is told the key of the *next* one, and has to say its value, from the pairs
// up to here. In the string k3 c0 k3 the place of c0 is told "k", and answers 3. (Where the key is new,
// nobody can know; those places are not counted.) Strings end at the last column; what stands left of them is
// padding, and holds what an earlier batch left there. Some strings have no pair yet; the right answer is
// then "nothing".
//
// All strings are learned at once, at every place: query i asks for the value of pair i + 1. So the answer
// stands in the input, one column further on, and only the mask hides it.

constexpr Size kColumns = 12, kKeys = 12, kValues = 12, kHeads = 2, kWidth = 32, kBatch = 64;
constexpr std::int64_t kNothing = kValues, kNotCounted = -1;

using Strings = kit::PairStrings;  // keys, values, asked, pairs, known: lessons/07_masks/pair_strings.hpp

Strings draw(std::uint64_t seed, std::uint64_t stream, Size rows) {
  return kit::draw_pair_strings(kit::Random(seed, stream), rows, {kColumns, kKeys, kValues});
}

/// What each place is to answer: the value `ahead` columns further on.
Ids answers(const Strings& strings, Size ahead) {
  Ids result;
  for (Size place = 0; place < strings.rows * kColumns; ++place) {
    const Size column = place % kColumns;
    const bool empty = strings.pairs[static_cast<std::size_t>(place / kColumns)] == 0;
    if (empty && column == kColumns - 1)
      result.push_back(kNothing);
    else if (strings.known[static_cast<std::size_t>(place)] && column < kColumns - 1)
      result.push_back(strings.values[static_cast<std::size_t>(place + ahead)]);
    else
      result.push_back(kNotCounted);
  }
  return result;
}

// The model: key and value of each place are embedded side by side; the key that is asked for makes the
// query; two heads attend (a *head* is an attention of its own on a slice of q, k and v, and the outputs
// stand side by side); the readout sees what was read, and the place's own pair. Only `attend` changes from
// patient to patient.

/// q, k, v (B, T, H·d) and valid (B, T) → (B, T, H·d)
using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid)>;

struct Reader : Module {
  explicit Reader(Attend attend_in) : attend(std::move(attend_in)) {}

  Tensor operator()(const Strings& s) const {
    const Tensor pairs = concat({key(Indices(s.keys, s.shape())), value(Indices(s.values, s.shape()))}, -1);
    const Tensor query = to_q(asked(Indices(s.asked, s.shape())));
    return out(concat({attend(query, to_k(pairs), to_v(pairs), s.valid()), pairs}, -1));
  }

  Attend attend;
  Embedding key{{*this, "key"}, kKeys, 16}, value{{*this, "value"}, kValues, 16},
      asked{{*this, "asked"}, kKeys, 16};
  Linear to_q{{*this, "to_q"}, 16, kWidth, Bias::no}, to_k{{*this, "to_k"}, 32, kWidth, Bias::no},
      to_v{{*this, "to_v"}, 32, kWidth, Bias::no};
  Linear out{{*this, "out"}, kWidth + 32, kValues + 1};
};

// The sound one. Heads are a transposed view, (B, T, H·d) → (B, H, T, d). The mask must meet (B, H, T, T):
// (B, 1, 1, T) & (T, T) is (B, 1, T, T), and broadcasts. A mask (B, T, T) would meet the heads with its batch
// axis: an error if you are lucky, the wrong strings masked if there are as many heads as strings.

Tensor split(const Tensor& x) {
  return transpose(reshape(x, {x.size(0), x.size(1), kHeads, x.size(2) / kHeads}), 1, 2);
}
Tensor join(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), kHeads * x.size(3)});
}
Mask columns_of(const Mask& valid) { return valid.reshape({valid.shape()[0], 1, 1, valid.shape()[1]}); }
Mask pairs_of(const Mask& valid) {
  return columns_of(valid) & Mask::causal(valid.shape()[1], valid.shape()[1]);
}
double root(const Tensor& q) { return std::sqrt(static_cast<double>(q.size(-1) / kHeads)); }  // √d

Tensor attend_with(const Attention& attention, const Tensor& q, const Tensor& k, const Tensor& v,
                   const Mask& mask) {
  return join(attention(split(q), split(k), split(v), mask).context);
}
Tensor sound(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  return attend_with(Attention{scaled_dot()}, q, k, v, pairs_of(valid));
}

// 1. Softmax over the wrong axis. In some libraries `softmax(scores)` of three axes, with none named, takes
// axis 0: the batch. Here it does the same to four. The strings then share out the weights among themselves.
// With a batch of one every weight is exactly 1. (core's softmax has no default axis. You have to write the
// wrong one.)

Tensor wrong_axis(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const auto over_batch = [](const Tensor& scores, const Mask& mask) {
    return keep(mask, softmax(where(mask, scores, scalar(-1e9, scores.dtype())), 0));  // -1 is right
  };
  return attend_with(Attention{scaled_dot(), {.normalise = over_batch}}, q, k, v, pairs_of(valid));
}

// 2. The transposed mask: upper triangle for lower. Query i sees keys from i on: the answer is among them.

Tensor transposed_mask(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const Size n = valid.shape()[1];
  const Mask upper = Mask::from(n, n, [](Size i, Size j) { return j >= i; });  // j <= i is right
  return attend_with(Attention{scaled_dot()}, q, k, v, columns_of(valid) & upper);
}

// 3. Inverted polarity. In one layer true means "may attend", in the next "is hidden". Both are in use, even
// inside one library.

Tensor inverted(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  return sound(q, k, v, !valid);
}

// 4. −1e9 in place of the mask. As long as one key is left, e^{−1e9} is exactly 0, and all is well. In an
// empty row all scores are −1e9, hence equal: the weights are uniform, over padding.

Tensor minus_1e9(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const Tensor scores = matmul(split(q), transpose(split(k))) / root(q);
  const Tensor weights = softmax(where(pairs_of(valid), scores, scalar(-1e9, scores.dtype())), -1);
  return join(matmul(weights, split(v)));
}

// 5. Heads by reshape. (B, T, H·d) reshaped straight to (B, H, T, d) has the right shape, and the wrong
// numbers: the first head gets the first half of the string, cut into pieces.

Tensor heads_by_reshape(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const auto cut = [](const Tensor& x) {
    return reshape(x, {x.size(0), kHeads, x.size(1), x.size(2) / kHeads});  // and no transpose
  };
  return reshape(Attention{scaled_dot()}(cut(q), cut(k), cut(v), pairs_of(valid)).context, v.shape());
}

// 6. Divided after the product: softmax(q k) v / √d for softmax(q k / √d) v.

Tensor divided_late(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  return attend_with(Attention{dot()}, q, k, v, pairs_of(valid)) / root(q);
}

// 7. The target shifted by one: each place is asked for the value that it has just been shown. Here the
// attention is sound, and never used.

struct Patient {
  const char* name;
  Attend attend;
  Size ahead = 1;  // where the target stands
};

const std::vector<Patient>& patients() {
  static const std::vector<Patient> all = {{"0 sound", sound},
                                           {"1 softmax over the batch", wrong_axis},
                                           {"2 transposed mask", transposed_mask},
                                           {"3 inverted polarity", inverted},
                                           {"4 −1e9 for a mask", minus_1e9},
                                           {"5 heads by reshape", heads_by_reshape},
                                           {"6 divided after product", divided_late},
                                           {"7 target shifted by one", sound, 0}};
  return all;
}

// Each is trained with the same strings from the same first values, and measured twice. *As one measures*: on
// fresh strings, drawn and batched as in training, with the same code (and the same targets). *In use*: one
// string at a time, nothing after the place that asks, since in use there is no future, and the padding all
// zeros. To a sound attention the two are the same. Strings without a pair are counted apart.
//
// What you should see: only 3 and 5 fail to train, and would be noticed. (5 cuts each string in two, and a
// place sees its own half alone: the last place, which is the one that asks in use, has six columns to look
// in, the first of a half has one.) 1, 2 and 7 look well and are useless: 1 needs the other strings of its
// batch to share the weights with, 2 reads the answer from the future, 7 repeats what it was just shown. 4 is
// as good as the sound one until a string is empty: then it answers from what the padding holds. 6 is a
// matter of scale, which the projections make up for at this width; lesson 08 shows where they no longer can.
// A low loss says that the code can be trained. It doesn't say what was learned.

struct Outcome {
  double loss = 0;                             // the mean of the last steps
  double measured = 0, in_use = 0, empty = 0;  // right answers in per cent
};

double share_right(const Tensor& logits, const Ids& targets) {
  const Ids said = argmax(logits).to_vector();
  double right = 0, counted = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (targets[i] == kNotCounted) continue;
    counted += 1;
    right += said[i] == targets[i];
  }
  return 100 * right / counted;
}

/// Strings as in use, each alone, the last place asks; those with pairs, or those without.
double answers_in_use(const Reader& model, std::uint64_t seed, bool with_pairs, Size count) {
  constexpr std::size_t kLast = kColumns - 1;
  double right = 0;
  Size tried = 0;
  for (std::uint64_t stream = 2'000'000; tried < count; ++stream) {
    Strings s = draw(seed, stream, 1);
    if ((s.pairs[0] > 0) != with_pairs || (with_pairs && !s.known[kLast])) continue;
    ++tried;
    std::int64_t answer = kNothing;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool padding = j < static_cast<std::size_t>(kColumns - s.pairs[0]);
      if (padding) s.keys[j] = s.values[j] = 0;
      if (padding && j < kLast) s.asked[j] = 0;
      if (!padding && s.keys[j] == s.asked[kLast]) answer = s.values[j];
    }
    right += argmax(select(model(s), 1, kLast)).to_vector()[0] == answer;
  }
  return 100 * right / static_cast<double>(count);
}

Outcome treat(const Patient& patient, const kit::Options& options) {
  Reader model(patient.attend);
  model.initialise(options.seed);
  Adam adam(model.parameters(), {.learning_rate = 3e-3});
  Outcome outcome;
  double sum_of_losses = 0;
  kit::Progress progress(options.steps, {.unit = "strings"});
  for (Size step = 1; step <= options.steps; ++step) {
    const Strings strings = draw(options.seed, static_cast<std::uint64_t>(step), kBatch);
    Tape tape;
    const Tensor loss =
        cross_entropy(model(strings), Indices(answers(strings, patient.ahead), strings.shape()));
    tape.backward(loss);
    adam.step();
    progress.step(loss.item(), kBatch);
    if (step > options.steps - 20) sum_of_losses += loss.item();
  }
  progress.finish();
  outcome.loss = sum_of_losses / static_cast<double>(std::min<Size>(20, options.steps));

  const Size batches = options.smoke ? 1 : 8;
  for (Size i = 0; i < batches; ++i) {
    const Strings fresh = draw(options.seed, 1'000'000 + static_cast<std::uint64_t>(i), kBatch);
    outcome.measured +=
        share_right(model(fresh), answers(fresh, patient.ahead)) / static_cast<double>(batches);
  }
  outcome.in_use = answers_in_use(model, options.seed, true, options.smoke ? 10 : 400);
  outcome.empty = answers_in_use(model, options.seed, false, options.smoke ? 10 : 100);
  return outcome;
}

// ---- 5. The checks that catch them ------------------------------------------------------------------------
//
// None of them needs training, and each takes milliseconds. Random q, k, v in f64; three strings of six
// columns, with 6, 4 and 0 pairs; two heads.
//
// What you should see: each check catches the patient that it was made for, and some others. (Two that look
// wrong: "no future" and "padding" catch 4. In its empty row the weights are uniform, over later columns and
// over padding.) The comparison with a slow version, head by head, catches all that is wrong with an
// attention. But it only says "differs". The others say what is wrong, and they need no second version: they
// are for the attention that nobody has written before.

struct Sample {
  explicit Sample(std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 3; ++i) qkv.push_back(random_normal({3, 6, 8}, seed + 20 + i, DType::f64));
  }
  /// The patient, and what is taken of its output.
  Three part(const Patient& p, const std::function<Tensor(const Tensor&)>& taken) const {
    return [&p, taken, valid = valid](const Tensor& q, const Tensor& k, const Tensor& v) {
      return taken(p.attend(q, k, v, valid));
    };
  }
  Three whole(const Patient& p) const {
    return part(p, [](const Tensor& y) { return y; });
  }

  Mask valid = Mask::from(3, 6, [](Size b, Size j) { return j >= (b == 0 ? 0 : b == 1 ? 2 : 6); });
  Mask places = valid.unsqueeze(-1);  // (3, 6, 1)
  std::vector<Tensor> qkv;
};

/// With values of 1 a weighted average is 1.
bool averages(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const Tensor y = p.attend(s.qkv[0], s.qkv[1], ones({3, 6, 8}, DType::f64), s.valid);
  return largest(keep(s.places, y - 1)) < 1e-12;
}

/// The gradients of k and v after place i are exactly 0 for what place i answers.
bool looks_back(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  for (Size i = 0; i + 1 < 6; ++i) {
    const auto at_i = [i](const Tensor& y) { return slice(y, 1, i, i + 1); };
    const std::vector<Tensor> there = both_ways(s.part(p, at_i), s.qkv, seed);
    if (largest(slice(there[2], 1, i + 1, 6)) != 0 || largest(slice(there[3], 1, i + 1, 6)) != 0)
      return false;
  }
  return true;
}

/// NaN in the padding changes nothing, forward and backward.
bool ignores_padding(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  std::vector<Tensor> poison;
  for (const Tensor& x : s.qkv) poison.push_back(poisoned(x, s.places));
  return farthest(both_ways(s.whole(p), s.qkv, seed), both_ways(s.whole(p), poison, seed)) == 0;
}

/// The string without pairs gets exactly 0, and so do its gradients.
bool nothing_from_nothing(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const auto third = [](const Tensor& y) { return select(y, 0, 2); };
  const std::vector<Tensor> all = both_ways(s.part(p, third), s.qkv, seed);
  return std::all_of(all.begin(), all.end(), [](const Tensor& x) { return largest(x) == 0; });
}

/// A string alone gets what it gets in a batch.
bool alone_as_in_batch(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const Tensor together = p.attend(s.qkv[0], s.qkv[1], s.qkv[2], s.valid);
  const std::vector<bool> all = s.valid.to_vector();
  for (Size b = 0; b < 3; ++b) {
    const auto row = [&](const Tensor& x) { return slice(x, 0, b, b + 1); };
    const Mask valid =
        Mask::from(1, 6, [&](Size, Size j) { return all[static_cast<std::size_t>(b * 6 + j)]; });
    const Tensor alone = p.attend(row(s.qkv[0]), row(s.qkv[1]), row(s.qkv[2]), valid);
    if (largest(alone - row(together)) > 1e-12) return false;
  }
  return true;
}

/// One head after the other, by part 3's attention on its own columns, gives the same.
bool head_by_head(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const Mask mask = s.valid.unsqueeze(1) & Mask::causal(6, 6);
  std::vector<Tensor> outputs;
  for (Size h = 0; h < kHeads; ++h) {
    const auto own = [&](const Tensor& x) { return slice(x, 2, h * 4, (h + 1) * 4); };
    outputs.push_back(attend_by_hand(own(s.qkv[0]), own(s.qkv[1]), own(s.qkv[2]), mask));
  }
  return largest(concat(outputs, -1) - p.attend(s.qkv[0], s.qkv[1], s.qkv[2], s.valid)) < 1e-12;
}

/// What a place is to answer is the next pair's value.
bool target_is_ahead(const Patient& p, std::uint64_t seed) {
  const Strings s = draw(seed, 4'000'000, 20);
  const Ids targets = answers(s, p.ahead);
  for (std::size_t place = 0; place < targets.size(); ++place)
    if (targets[place] < kNothing && targets[place] != kNotCounted && targets[place] != s.values[place + 1])
      return false;
  return true;
}

struct NamedCheck {
  const char* name;
  bool (*passes)(const Patient& patient, std::uint64_t seed);
};
/// In the order of the patients: check i was made for patient i + 1.
constexpr NamedCheck kChecks[] = {
    {"alone", alone_as_in_batch},        {"no future", looks_back}, {"padding", ignores_padding},
    {"empty row", nothing_from_nothing}, {"by head", head_by_head}, {"averages", averages},
    {"target", target_is_ahead},
};

}  // namespace

void show_clinic(const kit::Options& options, kit::Report& report) {
  std::vector<Outcome> all;
  for (const Patient& patient : patients()) all.push_back(treat(patient, options));
  kit::Heatmap picture{"Share of right answers (after the name the loss at the end of training)",
                       {"as measured", "in use", "no pairs"}};
  picture.numbers = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    picture.rows.push_back(fmt::format("{} ({:.3f})", patients()[i].name, all[i].loss));
    for (const double right : {all[i].measured, all[i].in_use, all[i].empty})
      picture.values.push_back(right / 100);
  }
  kit::show(picture, options.out / "clinic.svg");

  report.at_least("0 sound, in use", all[0].in_use, 99, "%");
  report.at_least("0 sound, no pairs", all[0].empty, 99, "%");
  report.at_least("1 softmax over the batch, as measured", all[1].measured, 90, "%");
  report.at_most("1 softmax over the batch, in use", all[1].in_use, 60, "%");
  report.at_least("2 transposed mask, as measured", all[2].measured, 99, "%");
  report.at_most("2 transposed mask, in use", all[2].in_use, 15, "%");
  report.at_most("3 inverted polarity, as measured", all[3].measured, 20, "%");
  report.at_least("4 −1e9 for a mask, in use", all[4].in_use, 99, "%");
  report.at_most("4 −1e9 for a mask, no pairs", all[4].empty, 10, "%");
  report.at_most("5 heads by reshape, as measured", all[5].measured, 70, "%");
  report.at_least("6 divided after product, in use", all[6].in_use, 99, "%");
  report.at_least("7 target shifted by one, as measured", all[7].measured, 99, "%");
  report.at_most("7 target shifted by one, in use", all[7].in_use, 15, "%");
}

void show_checks(const kit::Options& options, kit::Report& report) {
  kit::Heatmap picture{"Which check catches which (dark: caught)"};
  for (const NamedCheck& check : kChecks) picture.columns.push_back(check.name);
  for (const Patient& patient : patients()) {
    picture.rows.push_back(patient.name);
    for (const NamedCheck& check : kChecks)
      picture.values.push_back(check.passes(patient, options.seed) ? 0 : 1);
  }
  kit::show(picture, options.out / "checks.svg");
  const std::size_t width = std::size(kChecks);
  for (std::size_t i = 0; i < width; ++i) {
    const bool passes_sound = picture.values[i] == 0, caught = picture.values[(i + 1) * width + i] == 1;
    report.check(fmt::format("\"{}\" passes 0, and catches {}", kChecks[i].name, patients()[i + 1].name),
                 passes_sound && caught);
  }
}

}  // namespace masks
