// 20 gpt: predict the next token
//
// 25 minutes to read, two minutes to run. Needs lesson 19 (the block), 07 (the causal mask), 17 (learned
// positions) and 10 (teacher forcing, free decoding). Afterwards you can build a GPT, train it on a text of
// your own (--data), let it write with a cache of keys and values, and choose how wildly it writes.
//
// A *token* is what a text is made of: a word, a character, a digit. Ask a model at every place which token
// comes next: nobody has to label anything, since a text is its own answer. How far does that one question
// lead? (GPT: generative pretrained transformer, Radford et al. 2018.)

#include <fmt/format.h>

#include <cmath>

#include "core/core.hpp"
#include "lessons/20_gpt/experiment.hpp"
#include "lessons/20_gpt/text.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "optim/parallel/mpi/mpi.hpp"

using namespace tapestry;
using namespace tapestry::lesson20;

namespace {

// ---- 1. A table of pairs ----------------------------------------------------------------------------------
// A *bigram* model knows how often b follows a, and nothing else. In "abracadabra" an a is followed by b, c,
// d and b. So it says after an a: b with 2/4, c with 1/4, d with 1/4. What it pays for these four places:
//
//     −log 2/4 = 0.693 for each b, −log 1/4 = 1.386 for c and d          mean 1.040
//
// Natural logarithms count in *nats*. Who takes each of ten digits for equally likely pays log 10 = 2.303.

void pencil(kit::Report& report) {
  const double often = -std::log(0.5), once = -std::log(0.25), mean = (often + once) / 2;
  kit::check_worked_example(report, "after an a",
                            {{often, 0.693}, {once, 1.386}, {mean, 1.040}, {std::log(10.0), 2.303}});
}

// ---- 2. A GPT from plain ops ------------------------------------------------------------------------------
// To see further back, take lesson 19's blocks with lesson 07's causal mask: place i sees the places j ≤ i.
// So one pass over T tokens answers T questions: what comes after the first, after two, …

/// x (B, T, width) → (B, T, d), one head, as in lesson 18.
Tensor head(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  const Tensor q = matmul(x, transpose(w_q)), k = matmul(x, transpose(w_k)), v = matmul(x, transpose(w_v));
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));  // (B, T, T)
  return matmul(masked_softmax(scores, Mask::causal(x.size(1), x.size(1))), v);
}

// New is the last line: the logits ask which token the state means, by a product with each token's vector. So
// one matrix E serves at both *tied* ends, logits = x Eᵀ, and learns at both (Press and Wolf 2017).

/// ids (B, T) → logits (B, T, V); `out` is E. Weights have the names that they have in a file.
Tensor gpt_by_hand(const Weights& w, const Tensor& out, Size layers, Size heads, const Indices& ids) {
  const Tensor& words = w.at("input.words.weight");  // E (V, width)
  Tensor x = embedding(words, ids) + slice(w.at("input.positions.weight"), 0, 0, ids.shape()[1]);
  const auto norm = [&](const std::string& name) {  // lesson 19's
    return layer_norm(x, w.at(name + ".weight"), w.at(name + ".bias"));
  };
  const Size wide = words.size(1) / heads;  // of one head
  for (Size layer = 0; layer < layers; ++layer) {
    const std::string block = fmt::format("stack.blocks.{}.", layer);
    const Tensor normed = norm(block + "self_norm");
    std::vector<Tensor> read;
    for (Size h = 0; h < heads; ++h) {
      const auto part = [&](const char* name) {  // this head's rows of the matrix
        return slice(w.at(fmt::format("{}self.{}.weight", block, name)), 0, h * wide, (h + 1) * wide);
      };
      read.push_back(head(normed, part("query"), part("key"), part("value")));
    }
    x = x + matmul(concat(read, -1), transpose(w.at(block + "self.output.weight")));
    const Tensor within =
        matmul(norm(block + "feed_forward_norm"), transpose(w.at(block + "feed_forward.in.weight")));
    x = x + matmul(gelu(within), transpose(w.at(block + "feed_forward.out.weight")));  // gelu: a smooth relu
  }
  return matmul(norm("stack.norm"), transpose(out));
}

// ---- 3. Part by part --------------------------------------------------------------------------------------
// The task is a text, too: four to eight digits, "=", the same digits sorted.
//
//     3 1 4 1 5 9 2 6 = 1 1 2 3 4 5 6 9
//
// The loss counts what follows "=": the digits before are random. A tenth of all *answers* is held out, and
// no string that sorts to one of them is trained on. Begin with the table of pairs and add one part at a
// time; the last model is a GPT. Then it writes on its own: what stands up to "=" is the *prompt*, and each
// digit that it writes is fed back. An answer counts if all its digits are right.

void part_by_part(const kit::Options& options, kit::Report& report) {
  const kit::Question bare = report.ask(
      "three bare blocks",
      "One block of heads and feed-forward, without residual and norm; then three, piled up. Which has the "
      "smaller loss after a tenth of the training?",
      {"three: deeper is better", "about the same", "one: three learn more slowly"});
  const Ledger ledger = show_ledger(options);
  const double piled = ledger.three_blocks / ledger.one_block;
  report.at_least("early loss of three bare blocks, times that of one", piled, 1.5);
  report.at_least("the same, times that with residuals", ledger.three_blocks / ledger.with_residuals, 3);
  report.answer(bare, 'c', piled >= 1.5,
                "Much lies between most weights and the loss, until residuals carry it past the blocks.");
  report.at_least("10,000 strings with answers never seen: all digits right", sort_digits(ledger, options),
                  99.9, "%");
}

// ---- 4. Remember keys and values --------------------------------------------------------------------------
// No place looks ahead, so keys and values of old places cannot change when a token is added. Keep them (the
// *KV cache*): a new token costs one query, key and value, in place of T. What grows is the look back:

Tensor head_with_cache(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  Tensor keys, values;  // of the tokens so far
  std::vector<Tensor> read;
  for (Size t = 0; t < x.size(1); ++t) {
    const Tensor token = slice(x, 1, t, t + 1), q = matmul(token, transpose(w_q));
    const Tensor k = matmul(token, transpose(w_k)), v = matmul(token, transpose(w_v));
    keys = t == 0 ? k : concat({keys, k}, 1);
    values = t == 0 ? v : concat({values, v}, 1);
    const Tensor scores = matmul(q, transpose(keys)) / std::sqrt(static_cast<double>(q.size(2)));
    read.push_back(matmul(softmax(scores, -1), values));  // no mask: there is nothing ahead yet
  }
  return concat(read, 1);
}

// ---- 5. Choosing from what it predicts --------------------------------------------------------------------
// Sorting has one right answer. A story has many, so draw:
//
//     temperature τ    from softmax(logits / τ): below 1 bolder on the likely, above 1 wilder
//     top-k            among the k likeliest (Fan, Lewis and Dauphin 2018)
//     top-p            among the fewest whose shares reach p (Holtzman et al. 2020)

/// shares of tokens, the likeliest first → those with which they are drawn; top_k 0: among all
Shares choose_from(const Shares& shares, double temperature, Size top_k) {
  Shares chosen;
  double all = 0;
  for (const double share : shares) {
    const bool cut = top_k > 0 && static_cast<Size>(chosen.size()) >= top_k;
    all += chosen.emplace_back(cut ? 0 : std::pow(share, 1 / temperature));  // e^{log p / τ}
  }
  for (double& share : chosen) share /= all;
  return chosen;
}

// ---- 6. A real text ---------------------------------------------------------------------------------------
// Here is one: sentences of this very course, character by character. A small GPT with lesson 17's rotary
// positions trains on the first nine tenths. It has more weights than the text has characters.

void real_text(const TextSettings& settings, const kit::Options& options, kit::Report& report) {
  const kit::Question heart = report.ask(
      "the last tenth", "How does it do on the last tenth, against a table of pairs of characters?",
      {"better: it sees more than one character back", "about the same: characters are mostly chance",
       "worse: it has learned the first nine tenths by heart"});
  const kit::Question likeliest = report.ask(
      "temperature 0", "It goes on from \"The\", always with the likeliest character. What comes?",
      {"its best text, with the fewest mistakes", "the same phrases again and again", "letters at random"});
  const CourseLosses losses = learn_course(settings, options);
  report.figure("loss per character there, table of pairs", losses.pairs, "nats");
  report.figure("the same, GPT", losses.gpt, "nats");
  report.at_least("so much better is the GPT", losses.pairs - losses.gpt, 0.4, "nats");
  report.answer(heart, 'a', losses.gpt < losses.pairs, "Words recur, and few steps learn no text by heart.");
  const double stuck = write_course(settings, options, 0, 0);
  const double free = write_course(settings, options, 0.8, 10);
  report.at_least("temperature 0: runs of 12 characters written before", stuck, 50, "%");
  report.at_most("temperature 0.8, top-k 10: the same", free, 20, "%");
  report.answer(likeliest, 'b', stuck >= 50 && free <= 20,
                "What it has just written is likely to come again; so it does. A little chance leads out.");
}

// What to remember. Predict the next token, at all places at once, and never look ahead. Keys and values of
// old tokens stay, so keep them. Draw from what is predicted: the likeliest alone goes round in circles.
//
// Exercises: lessons/practise 20 (a cache; top-p; what it keeps; few weights that sort; your engine sorts).

}  // namespace

int main(int argc, char** argv) {
  return run_under_mpi({.timeout = 120}, [&](Communicator& ranks) {
    kit::Lesson program("20_gpt", "predict the next token");
    program.runs_on(ranks);
    program.steps(2000, 2);
    TextSettings text;
    offer(program, text);
    return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
      if (only_writes(program, options, text)) return;
      report.section("A table of pairs");
      pencil(report);
      report.section("A GPT from plain ops");
      check_gpt(gpt_by_hand, options.seed, report);
      if (!options.data.empty()) return learn_text(text, options, report);
      report.section("Part by part");
      part_by_part(options, report);
      report.section("Remember keys and values");
      check_cache(head, head_with_cache, options, report);
      report.section("Choosing from what it predicts");
      report.at_most("largest difference of a share", count_draws(choose_from, options), 0.02);
      report.section("A real text");
      real_text(text, options, report);
    });
  });
}
