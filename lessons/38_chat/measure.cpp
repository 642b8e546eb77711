#include "lessons/38_chat/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/core.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/38_chat/modes.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "nn/positions/rotary.hpp"

namespace tapestry::lesson38 {
namespace {

constexpr const char* kSpelledEnd = "<|im_end|>";

Size count_of(const Ids& ids, std::int64_t id) {
  return static_cast<Size>(std::count(ids.begin(), ids.end(), id));
}

QuantisedMatrix matrix_of(const GgufTensor& tensor) {
  const Size columns = tensor.shape[tensor.shape.rank() - 1];
  return {tensor.shape.count() / columns, columns, tensor.type, tensor.bytes, tensor.owner};
}

Tensor in_f32(const Gguf& file, const std::string& name) {
  const GgufTensor& tensor = file.at(name);
  return reshape(dequantise(matrix_of(tensor)), tensor.shape);
}

/// Turns the pairs (i, i + d/2).
Tensor rotate_halves(const Tensor& x, double base) {
  return RotaryPositions(Parent{}, PairShape{.heads = x.size(0), .head_width = x.size(2)}, {.base = base})
      .rotate(x, 0);
}

/// Returns a matrix of the file in these blocks, or a random one if there is none.
QuantisedMatrix find_matrix(const Gguf& file, BlockType type, std::uint64_t seed) {
  for (const auto& [name, tensor] : file.tensors)
    if (tensor.type == type && tensor.shape.rank() == 2) return matrix_of(tensor);
  return quantise(random_normal({16, 64}, seed), type);
}

Bytes unsigned_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

/// Returns the bytes per second at which all threads together read `count` numbers of 8 bytes: best of `rounds`.
double read_bandwidth(std::size_t count, int rounds) {
  const std::vector<std::uint64_t> numbers(count, 1);
  std::atomic<std::uint64_t> total = 0;  // used, so that the compiler cannot leave out the reads
  const double best = kit::fastest(rounds, [&] {
    simd::parallel_ranges(static_cast<Size>(count), Size{1} << 15, [&](Size begin, Size end) {
      std::array<std::uint64_t, 8> sums = {};  // independent, so that no addition waits for another
      for (Size i = begin; i + 8 <= end; i += 8)
        for (std::size_t j = 0; j < 8; ++j) sums[j] += numbers[static_cast<std::size_t>(i) + j];
      for (const std::uint64_t sum : sums) total += sum;
    });
  });
  if (total != count * static_cast<std::uint64_t>(rounds)) throw std::logic_error("[chat] lost numbers");
  return 8 * static_cast<double>(count) / best;
}

}  // namespace

Ids conversation_ids(const ChatModel& model) {
  return chat_ids(model.tokenizer, chat_template_of(model.file).render({{"user", model.question}}));
}

std::string token_label(const ChatModel& model, std::int64_t id) {
  std::string text = model.tokenizer.bytes(id);
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 2))
    text.replace(at, 1, "\\n");
  return fmt::format("\"{}\"", kit::printable(text));
}

void show_file(const ChatModel& model) {
  const Llama::Sizes& sizes = model.llama.sizes();
  fmt::print("  {} blocks of width {}, {} heads of {}, {} of keys and values, {} hidden units\n",
             sizes.blocks, sizes.width, sizes.heads, sizes.head_width, sizes.kv_heads, sizes.hidden);
  fmt::print("  {} tokens in the vocabulary, {} in the context; {} metadata keys, {} tensors\n",
             sizes.vocabulary, sizes.context, model.file.metadata.size(), model.file.tensors.size());
  struct Total {
    Size tensors = 0, weights = 0, bytes = 0;
  };
  std::map<std::string, Total> totals;
  for (const auto& [name, tensor] : model.file.tensors) {
    Total& total = totals[std::string(to_string(tensor.type))];
    total.tensors += 1;
    total.weights += tensor.shape.count();
    total.bytes += static_cast<Size>(tensor.bytes.size());
  }
  fmt::print("  {:<8}{:>8}{:>14}{:>14}{:>17}\n", "type", "tensors", "weights", "bytes", "bits per weight");
  for (const auto& [type, total] : totals)
    fmt::print("  {:<8}{:>8}{:>14}{:>14}{:>17.2f}\n", type, total.tensors, total.weights, total.bytes,
               8 * static_cast<double>(total.bytes) / static_cast<double>(total.weights));
}

EndsOfTurns count_ends(const ChatModel& model, kit::Report& report) {
  const ByteLevelBpe& bpe = model.tokenizer;
  const ChatTemplate format = chat_template_of(model.file);
  bool same = true;
  for (const char* text : {"Hello, world!", "naïve café — déjà vu", "12345 + 67890", "\tdef f(x):\n\n",
                           "👩‍👩‍👧 日本語"})
    same = same && bpe.decode(bpe.encode(text)) == text;
  const Ids greeting = conversation_ids(model);
  std::vector<std::string> tokens;
  for (const std::int64_t id : greeting) tokens.push_back(token_label(model, id));
  fmt::print("  {} tokens: {}\n", tokens.size(), fmt::join(tokens, " "));
  report.check("decoding the ids of a text returns the text", same);

  const auto end = bpe.id(format.end());
  if (!end) throw kit::UsageError("the vocabulary must have the end token of its template; use another file");
  const auto pieces = format.render({{"user", std::string(kSpelledEnd)}});
  EndsOfTurns ends;
  ends.harmless = count_of(greeting, *end);
  ends.separately = count_of(chat_ids(bpe, pieces), *end);
  ends.as_one_text = count_of(bpe.encode(chat_text(pieces)), *end);
  ends.pieces = static_cast<Size>(bpe.encode(kSpelledEnd, SpecialTokens::none).size());
  fmt::print("  The message {} has {} tokens.\n", kSpelledEnd, ends.pieces);
  fmt::print(
      "  End tokens: {} after a harmless message, {} if contents are encoded separately, {} as one text\n",
      ends.harmless, ends.separately, ends.as_one_text);
  return ends;
}

Differences compare_blocks(BlockByHand by_hand, Rotate rotate, const ChatModel& model, kit::Report& report) {
  const Llama::Sizes& sizes = model.llama.sizes();
  const Ids ids = conversation_ids(model);
  const Size tokens = static_cast<Size>(ids.size());
  LlamaTrace trace;
  const Tensor logits = Session(model).read(ids, &trace);
  const auto last = [&](const Tensor& x) { return select(x, 0, tokens - 1); };
  const auto run = [&](Rotate turn, double& farthest) {
    Tensor x = embedding(matrix_of(model.file.at("token_embd.weight")), Indices(ids, {tokens}));
    for (Size block = 0; block < sizes.blocks; ++block) {
      const BlockWeights weights = [&](const std::string& name) {
        return in_f32(model.file, fmt::format("blk.{}.{}.weight", block, name));
      };
      x = by_hand(weights, sizes, turn, x);
      farthest = std::max(farthest,
                          kit::relative_difference(last(x), trace.states[static_cast<std::size_t>(block)]));
    }
    return model.llama.logits_of(last(x));
  };
  Differences found;
  double with_wrong_pairs = 0;
  found.logits = kit::relative_difference(run(rotate, found.states), logits);
  const Tensor wrong = run(rotate_halves, with_wrong_pairs);
  found.finite = std::isfinite(kit::largest(wrong));
  found.wrong_pairs = kit::relative_difference(wrong, logits);
  report.figure("logits with pairs (i, i + d/2): largest difference ÷ largest logit", found.wrong_pairs);
  return found;
}

Rounding compare_products(Decode decode, Product product, const ChatModel& model, std::uint64_t seed,
                          kit::Report& report) {
  const QuantisedMatrix eight = find_matrix(model.file, BlockType::q8_0, seed);
  const Bytes first = unsigned_bytes(eight.row_bytes(0));
  const std::vector<double> row = select(dequantise(eight), 0, 0).to_vector();
  std::vector<double> decoded;
  for (std::size_t at = 0; at < first.size(); at += 34) {
    const std::vector<double> block = decode(first.subspan(at, 34));
    decoded.insert(decoded.end(), block.begin(), block.end());
  }
  report.check("a row of Q8_0 by hand equals core's", decoded == row);

  const Tensor a = random_normal({1, eight.columns()}, seed);
  const double by_hand = product(first, a.to_vector());
  const double by_core = quantised_matmul(a, eight).at({0, 0});
  report.at_most("product in int8 by hand: difference from core's", std::abs(by_hand - by_core), 1e-3);

  Rounding found;
  const QuantisedMatrix four = find_matrix(model.file, BlockType::q4_1, seed);
  found.bits_of_q4_1 =
      8 * static_cast<double>(four.bytes().size()) / static_cast<double>(four.rows() * four.columns());
  const Tensor x = random_normal({1, four.columns()}, seed + 1);
  const Tensor exact = quantised_matmul(x, four, QuantisedArithmetic::f32),
               off = quantised_matmul(x, four) - exact;
  found.product = std::sqrt(sum(off * off).item() / sum(exact * exact).item());

  const Llama rounded(model.file, {.arithmetic = QuantisedArithmetic::int8});
  const Ids ids = conversation_ids(model);
  LlamaCache one = model.llama.cache(), other = rounded.cache();
  const Tensor logits = model.llama(ids, one), in_int8 = rounded(ids, other);
  report.figure("logits in int8: largest difference ÷ largest logit",
                kit::relative_difference(in_int8, logits));
  report.figure("most likely next tokens that are the same",
                kit::percent_equal(argmax(in_int8), argmax(logits)), "%");
  return found;
}

void compare_answers(const ChatModel& model, kit::Report& report) {
  std::ifstream in(tiny_model().parent_path() / "reference.json");
  const nlohmann::json facts = nlohmann::json::parse(in);
  const ChatTemplate format = chat_template_of(model.file);
  int questions = 0, same_ids = 0, same_answers = 0;
  for (const auto& item : facts.at("answers")) {
    const Ids ids =
        chat_ids(model.tokenizer, format.render({{"user", item.at("question").get<std::string>()}}));
    const auto expected = item.at("answer").get<Ids>();
    Session session(model);
    Sampler sampler({.temperature = 0});
    const Answer answer = write_answer(session, ids, format, sampler, static_cast<Size>(expected.size()),
                                       [](std::int64_t) { return true; });
    ++questions;
    same_ids += ids == item.at("ids").get<Ids>() ? 1 : 0;
    same_answers += answer.ids == expected ? 1 : 0;
  }
  fmt::print("  {} questions, compared with the packages tokenizers and NumPy:\n", questions);
  report.at_least("questions with the same token ids", 100.0 * same_ids / questions, 100, "%");
  report.at_least("greedy answers with the same token ids", 100.0 * same_answers / questions, 100, "%");
}

void show_roofline(const ChatSettings& settings, const kit::Options& options, kit::Report& report) {
  const double bandwidth =
      read_bandwidth(options.smoke ? std::size_t{1} << 19 : std::size_t{1} << 25, options.smoke ? 1 : 5);
  const ChatModel model =
      read_chat_model(settings.model_file(), settings.arithmetic_of(false), settings.context);
  const double of_weights = static_cast<double>(model.llama.weight_bytes());
  const Speed speed =
      speed_of(model, options.smoke ? 16 : 256, options.smoke ? 8 : 64, options.smoke ? 1 : 2);
  report.figure("threads", simd::thread_count());
  report.figure("bandwidth of the memory, all threads", bandwidth / 1e9, "GB/s");
  report.figure("bytes read for a token", of_weights / 1e6, "MB");
  report.figure("largest speed that this bandwidth allows", bandwidth / of_weights, "tokens/s");
  report.figure("measured generation", speed.generation, "tokens/s");
  report.figure("measured prompt", speed.prompt, "tokens/s");
}

}  // namespace tapestry::lesson38
