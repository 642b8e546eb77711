// 20 gpt: predict the next token
//
// 25 minutes to read, three minutes to run. Needs lessons 19 (the block), 07 (the causal mask), 17 (learned
// positions) and 10 (teacher forcing, free decoding). Afterwards you can build a GPT and train it on a text of
// your own (--data). You can let it generate text with a cache of keys and values, and control how random this
// text is.
//
// A text is a sequence of *tokens*: words, pieces of words, characters or digits. We train a model to predict
// the next token at every position of a text. This task needs no labels, because the next token is in the text
// itself. How much can a model learn from this one task? (GPT is short for generative pretrained transformer,
// Radford et al. 2018.)

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

// ---- 1. A bigram table ------------------------------------------------------------------------------------
// A *bigram* model predicts the next token from the last token alone. It counts how often token b follows
// token a in the text. In "abracadabra", the letters after an a are b, c, d and b. So after an a, the model
// gives b the probability 2/4, c 1/4 and d 1/4. The loss of a prediction is −log of the probability of the
// right token. For these four positions:
//
//     −log 2/4 = 0.693 for each b,   −log 1/4 = 1.386 for c and for d          mean 1.040
//
// With natural logarithms, the unit of the loss is the *nat*. In section 3, the tokens are digits. There, a
// model that treats all ten digits as equally likely has a loss of log 10 = 2.303.

void bigram_by_hand(kit::Report& report) {
  const double often = -std::log(0.5), once = -std::log(0.25), mean = (often + once) / 2;
  kit::check_worked_example(report, "after an a",
                            {{often, 0.693}, {once, 1.386}, {mean, 1.040}, {std::log(10.0), 2.303}});
}

// ---- 2. A GPT from primitive ops --------------------------------------------------------------------------
// To use more than one earlier token, we take the blocks from lesson 19 with the causal mask from lesson 07:
// position i attends to the positions j ≤ i. So the result at position i depends only on the tokens up to i,
// and the model can predict token i + 1 from it. One pass over T tokens gives T predictions, one at each
// position. The targets are the same tokens, shifted by one position:
//
//     text         a   b   r   a   c
//     inputs       a   b   r   a
//     targets      b   r   a   c
//
// At position 3, for example, the model sees the inputs a, b and r, and it must predict the second a. It
// cannot copy the answer from the input at position 4, because the mask hides this position.
//
// The number of different tokens, V, is the size of the *vocabulary*. A GPT has six parts:
//
//     1  token embedding        a row of the matrix E (V, width) for each token
//     2  position embedding     a learned vector for each position, added to the token embedding
//     3  self-attention         several causal heads and an output matrix        once in each block
//     4  feed-forward           two matrices with a gelu between them            once in each block
//     5  final norm             a layer norm after the last block
//     6  output matrix          from the final state to a logit for each token
//
// Parts 3 and 4 both have a norm before them and a residual around them, as in lesson 19:
// x becomes x + part(norm(x)). The gelu (Hendrycks and Gimpel 2016) is a smooth relu, x Φ(x), where Φ is the
// distribution function of the standard normal distribution.
//
// We begin with one head of part 3.

/// x (B, T, width) → (B, T, d), for B texts of T tokens. One head, as in lesson 18, with a causal mask.
Tensor head(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  const Tensor q = matmul(x, transpose(w_q)), k = matmul(x, transpose(w_k)), v = matmul(x, transpose(w_v));
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));  // (B, T, T)
  return matmul(masked_softmax(scores, Mask::causal(x.size(1), x.size(1))), v);
}

// The function gpt_by_hand() contains all six parts in this order. Compared with the earlier lessons, only part 6,
// in its last line, is new. The logit of a token is the dot product of the final state x with the embedding of this
// token: logits = x Eᵀ. So the same matrix E is both the token embedding and the output matrix. We say that the
// two parts have *tied* weights (Press and Wolf 2017). This saves a second matrix of V · width weights. The
// gradient of E is the sum of the gradients from its two uses.

/// ids (B, T) → logits (B, T, V). The weights have the same names as in a checkpoint file. `out` is E, or a copy of
/// E where the program checks the gradients of the two uses separately.
Tensor gpt_by_hand(const Weights& w, const Tensor& out, Size layers, Size heads, const Indices& ids) {
  const Tensor& words = w.at("input.words.weight");  // E (V, width)
  Tensor x = embedding(words, ids) + slice(w.at("input.positions.weight"), 0, 0, ids.shape()[1]);
  const auto norm = [&](const std::string& name) {  // as in lesson 19
    return layer_norm(x, w.at(name + ".weight"), w.at(name + ".bias"));
  };
  const Size head_width = words.size(1) / heads;
  for (Size layer = 0; layer < layers; ++layer) {
    const std::string block = fmt::format("stack.blocks.{}.", layer);
    const Tensor normed = norm(block + "self_norm");
    std::vector<Tensor> results;  // of the heads
    for (Size h = 0; h < heads; ++h) {
      const auto part = [&](const char* name) {  // this head's rows of the matrix
        return slice(w.at(fmt::format("{}self.{}.weight", block, name)), 0, h * head_width,
                     (h + 1) * head_width);
      };
      results.push_back(head(normed, part("query"), part("key"), part("value")));
    }
    x = x + matmul(concat(results, -1), transpose(w.at(block + "self.output.weight")));
    const Tensor hidden =
        matmul(norm(block + "feed_forward_norm"), transpose(w.at(block + "feed_forward.in.weight")));
    x = x + matmul(gelu(hidden), transpose(w.at(block + "feed_forward.out.weight")));  // gelu: a smooth relu
  }
  return matmul(norm("stack.norm"), transpose(out));
}

// ---- 3. Add one part at a time ----------------------------------------------------------------------------
// Our first texts are short strings: four to eight random digits, then "=", then the same digits sorted.
//
//     3 1 4 1 5 9 2 6 = 1 1 2 3 4 5 6 9
//
// The loss counts only the tokens after "=". The digits before it are random, so no model can predict them.
//
// The sorted string after "=" is called the *answer*. About a tenth of all possible answers is held out: no
// training string has one of them, and all test strings have one of them. So a model cannot pass the test by
// memorising the answers of the training strings.
//
// We begin with the bigram table and add one part at a time. The last model is a GPT. Each model is trained for
// 2,000 steps with 64 strings per step. The bigram table is trained in the same way instead of counted: it is a
// matrix with one row of logits for each token, and the last token selects the row.
//
// Then the GPT writes answers by itself. It gets the string up to "=", which is the *prompt*. It writes the
// digit with the largest logit, and each digit that it writes becomes its next input. An answer counts as right
// if all its digits are right.

void part_by_part(const kit::Options& options, kit::Report& report) {
  const kit::Question bare = report.ask(
      "three bare blocks",
      "One model has a single block of heads and feed-forward, without residuals and norms. Another has three "
      "such blocks, stacked. Which model has the smaller loss after a tenth of the training?",
      {"the model with three blocks, because it is deeper", "neither, their losses are about the same",
       "the model with one block, because three blocks learn more slowly"});
  const Comparison comparison = compare_parts(options);
  const double piled = comparison.three_blocks / comparison.one_block;
  report.at_least("early loss of three bare blocks ÷ early loss of one", piled, 1.5);
  report.at_least("early loss of three bare blocks ÷ early loss with residuals",
                  comparison.three_blocks / comparison.with_residuals, 3);
  report.answer(
      bare, 'c', piled >= 1.5,
      "Without residuals, the gradient of most weights has to pass through several blocks. Residuals "
      "carry it past the blocks.");
  report.at_least("10,000 strings with held-out answers: all digits right", sort_digits(comparison, options),
                  99.9, "%");
}

// At seed 1, these are the losses on the test, after a tenth of the training and at the end:
//
//     nats per token       after a tenth    at the end
//     bigram                      1.4648        1.4321
//     one head                    0.4216        0.1176
//     four heads                  0.3463        0.0408
//     + feed-forward              0.2717        0.0004
//     three such blocks           0.8216        0.0000
//     + residuals                 0.1324        0.0000
//     + norms: a GPT              0.1101        0.0003
//
// The table shows four things:
//
// - The bigram table does not learn the task. The next digit depends on all digits before "=", but the table
//   uses only the last token. It can learn that a sorted digit is never smaller than the digit before it, so its
//   loss is smaller than log 10.
// - Heads and the feed-forward make the loss smaller, both early and at the end.
// - Three bare blocks, without residuals and norms, learn more slowly than one. Residuals remove this
//   disadvantage. At the end, the last four models are all near 0. So here, residuals and norms change the
//   speed of learning, not the result.
// - Norms change little here. In lesson 19, they were necessary: with eight blocks, residuals without norms did
//   not learn the task.
//
// At other seeds, the losses differ. But each run checks that the early loss of three bare blocks is at least
// 1.5 times that of one block, and at least 3 times that with residuals. It also checks that the GPT writes at
// least 99.9 % of the 10,000 answers without a mistake.
//
// Why do residuals help? With a residual, a part computes y = x + f(x). So ∂y/∂x is the identity matrix plus
// ∂f/∂x, and the identity passes the gradient from y to x unchanged. So even the first block receives the gradient
// of the last block's result, plus the gradients that pass through the functions f.
//
// Without residuals, the gradient of the first block is multiplied by the matrices ∂f/∂x of all later blocks. Early
// in training, these f are still nearly random. So the product of their matrices changes the size and the
// direction of the gradient in a random way.

// ---- 4. The KV cache --------------------------------------------------------------------------------------
// A GPT generates one token at a time, and each new token extends the text. No position attends to a later
// position. So the keys and values of earlier tokens do not change when a token is added, and we can store them in
// a *KV cache*.
//
// For a new token, each head then computes only one query, one key and one value, instead of T of each. The
// feed-forward, too, processes only the new token. One cost still grows with the length of the text: the new
// query is compared with all stored keys.
//
// The cache needs memory: every head of every block stores a key and a value for each token. So its size grows
// with the length of the text.

/// Same as head(), but token by token, as in generation. x (B, T, width) → (B, T, d).
Tensor head_with_cache(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  Tensor keys, values;  // of the tokens so far
  std::vector<Tensor> results;
  for (Size t = 0; t < x.size(1); ++t) {
    const Tensor token = slice(x, 1, t, t + 1), q = matmul(token, transpose(w_q));
    const Tensor k = matmul(token, transpose(w_k)), v = matmul(token, transpose(w_v));
    keys = t == 0 ? k : concat({keys, k}, 1);
    values = t == 0 ? v : concat({values, v}, 1);
    const Tensor scores = matmul(q, transpose(keys)) / std::sqrt(static_cast<double>(q.size(2)));
    results.push_back(matmul(softmax(scores, -1), values));  // no mask: the cache has no later tokens
  }
  return concat(results, 1);
}

// The program measures the time of one more token after texts of 32 to 512 tokens. Without the cache, this time
// grows with the text. With the cache, it stays far smaller: each run checks that after 512 tokens, it is at
// most a fifth of the time without the cache.

// ---- 5. Sampling the next token ---------------------------------------------------------------------------
// A string of digits has one sorted answer, so the GPT could always write the most likely digit. A story can
// continue in many ways, so we draw the next token at random from the predicted probabilities. Three settings
// control the draw. They are applied in this order:
//
//     temperature τ    draw from softmax(logits / τ): τ < 1 favours likely tokens more, τ > 1 less
//     top-k            draw only among the k most likely tokens (Fan, Lewis and Dauphin 2018)
//     top-p            draw only among the most likely tokens: as few as possible, such that their probabilities
//                      sum to p or more (Holtzman et al. 2020)
//
// So top-p uses the probabilities that temperature and top-k have already changed. Top-k and top-p set the
// probabilities of all other tokens to 0, and divide the remaining ones by their sum, so that they sum to 1 again.
//
// We cannot divide by τ = 0. But as τ approaches 0, the probability of the most likely token approaches 1. So
// *temperature 0* means that we always choose the most likely token.
//
// Why change the predicted probabilities at all? Most tokens of a vocabulary do not fit a given place. Each of
// them is unlikely, but all of them together are drawn now and then, and the model must then continue from a
// mistake. A lower temperature, top-k and top-p make such draws rarer.

/// Applies temperature and top-k to probabilities, the largest first. Logits differ from log p by the same number
/// for all tokens, so softmax(logits / τ) is p^{1/τ}, divided by the sum. With top_k = 0, all tokens are kept. The
/// program applies top-p afterwards. You write it in an exercise.
Probabilities temperature_and_top_k(const Probabilities& predicted, double temperature, Size top_k) {
  Probabilities changed;
  double all = 0;
  for (const double p : predicted) {
    const bool cut = top_k > 0 && static_cast<Size>(changed.size()) >= top_k;
    all += changed.emplace_back(cut ? 0 : std::pow(p, 1 / temperature));  // e^{log p / τ}
  }
  for (double& p : changed) p /= all;
  return changed;
}

// At seed 1, the program prints these probabilities for five tokens:
//
//     as predicted      0.500  0.250  0.150  0.070  0.030
//     temperature 0.5   0.734  0.183  0.066  0.014  0.003
//     temperature 2     0.348  0.246  0.191  0.130  0.085
//     top-k 2           0.667  0.333  0.000  0.000  0.000
//     top-p 0.8         0.556  0.278  0.167  0.000  0.000
//
// In the last row, the first two tokens have a probability of 3/4 together, which is less than p. So top-p
// also keeps the third token. Now the sum is 9/10, and each kept probability is divided by it.

// ---- 6. A real text ---------------------------------------------------------------------------------------
// Our text consists of sentences from an earlier version of this course, and its tokens are single
// characters. A small GPT is trained on the first nine tenths of the text. It uses rotary positions (lesson 17)
// in place of part 2.
//
// The GPT has about twice as many weights as the text has characters. So with enough training, it could memorise
// a large part of the text. That is why we measure the loss on the last tenth, which no training step uses.

void real_text(const TextSettings& settings, const kit::Options& options, kit::Report& report) {
  const kit::Question held_out = report.ask(
      "the last tenth",
      "How large is the GPT's loss on the last tenth of the text, compared with a bigram table of characters?",
      {"smaller, because the GPT uses more than one earlier character",
       "about the same, because characters are mostly random",
       "larger, because the GPT has memorised the first nine tenths"});
  const kit::Question likeliest = report.ask(
      "temperature 0",
      "The GPT continues the text after \"The\" and always writes the most likely character. What does it write?",
      {"its best text, with the fewest mistakes", "the same phrases again and again", "random letters"});
  const CourseLosses losses = learn_course(settings, options);
  report.figure("loss per character on the last tenth, bigram table", losses.pairs, "nats");
  report.figure("loss per character on the last tenth, GPT", losses.gpt, "nats");
  report.at_least("loss of the bigram table − loss of the GPT", losses.pairs - losses.gpt, 0.4, "nats");
  report.answer(held_out, 'a', losses.gpt < losses.pairs,
                "Many words and phrases recur in the last tenth, and a short run cannot memorise the text.");
  const double stuck = write_course(settings, options, 0, 0);
  const double free = write_course(settings, options, 0.8, 10);
  report.at_least("temperature 0: pieces of 12 characters written before", stuck, 50, "%");
  report.at_most("temperature 0.8, top-k 10: pieces of 12 characters written before", free, 20, "%");
  report.answer(
      likeliest, 'b', stuck >= 50 && free <= 20,
      "A phrase that was just written makes the same phrase more likely to follow. A little randomness "
      "breaks the loop.");
}

// At seed 1, the loss per character is 2.344 nats with the bigram table and 1.65 nats with the GPT. After
// "The", the texts of the GPT begin as follows:
//
//     temperature 0               score the same the same the same the same the same
//     temperature 0.8, top-k 10   score that it the start of the mean anst the other
//
// The first continuation repeats a phrase. The second one contains spelling mistakes but no long repetition.
// At other seeds, the words differ. To count repetition, the program writes 400 characters and looks at every
// piece of 12 characters. Each run checks that at temperature 0 at least half of the pieces occur earlier in
// the same text. With temperature and top-k as above, it checks that at most a fifth of them do.

// What to remember. To predict the next token, a GPT can learn an algorithm such as sorting, or the spelling
// and the phrases of a text. It predicts at all positions at once, and no position attends to a later one.
// Residuals pass the gradient to the first block. Keys and values of earlier tokens do not change, so a cache
// stores them. If a text can continue in many ways, draw its tokens from the predicted probabilities. Always
// choosing the most likely token can lead to endless repetition.
//
// Exercises: lessons/practise 20 (generate with a KV cache; top-p sampling; the size of a KV cache; a GPT that
// sorts with few weights; milestone, a GPT on your engine).

}  // namespace

int main(int argc, char** argv) {
  return run_under_mpi({.timeout = 120}, [&](Communicator& ranks) {
    kit::Lesson program("20_gpt", "predict the next token");
    program.runs_on(ranks);
    program.steps(2000, 2);
    TextSettings text;
    add_options(program, text);
    return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
      if (only_writes(program, options, text)) return;
      report.section("A bigram table");
      bigram_by_hand(report);
      report.section("A GPT from primitive ops");
      check_gpt(gpt_by_hand, options.seed, report);
      if (!options.data.empty()) return learn_text(text, options, report);
      report.section("Add one part at a time");
      part_by_part(options, report);
      report.section("The KV cache");
      check_cache(head, head_with_cache, options, report);
      report.section("Sampling the next token");
      report.at_most("largest difference of a probability", compare_draws(temperature_and_top_k, options),
                     0.02);
      report.section("A real text");
      real_text(text, options, report);
    });
  });
}
