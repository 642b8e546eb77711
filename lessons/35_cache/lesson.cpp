// 35 cache: make the KV cache smaller
//
// 20 minutes to read, two minutes to run. Needs lessons 20 (the KV cache), 18 (heads) and 17 (rotary positions).
// Afterwards you can compute how much memory the cache of a language model needs for each token. You can make the
// cache smaller with grouped-query, multi-query and latent attention, and store it in a ring buffer, in pages or in 8
// bits.
//
// While a language model answers you, it keeps the keys and values of all tokens of the conversation in its KV cache.
// For each new token, it reads the whole cache. With long texts and many users, the cache is larger than the weights,
// and reading it takes most of the time. How small can it be?

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "core/core.hpp"
#include "lessons/35_cache/checks.hpp"
#include "lessons/35_cache/measure.hpp"
#include "lessons/35_cache/models.hpp"
#include "lessons/35_cache/train.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "nn/transformer/cache_paged.hpp"
#include "nn/transformer/cache_quantised.hpp"
#include "nn/transformer/cache_rolling.hpp"
#include "nn/transformer/latent_attention.hpp"

using namespace tapestry;
using namespace tapestry::lesson35;

namespace {

// ---- 1. Bytes per token -----------------------------------------------------------------------------------
// In lesson 20, each head of each block stores one key and one value for each token. Suppose that a model has L
// blocks, each with H heads of width d_h, and that a number takes b bytes. Then each token adds to the cache
//
//     2 · L · H · d_h · b     bytes
//
// For example, Llama 2 7B has about 7 billion weights, 32 blocks and 32 heads of width 128. A number takes 2 bytes.
// One token takes 2 · 32 · 32 · 128 · 2 bytes = 0.524 MB (a megabyte is 10⁶ bytes here), and a context of 4,096
// tokens takes 2.147 GB. With seven such contexts, the cache takes more memory than the 13.5 GB of the weights.
//
// *Grouped-query attention* (GQA; Ainslie et al. 2023) keeps all H query heads, but has only G *key-value heads* (KV
// heads). H / G query heads share each of them. So the cache is smaller by the factor H / G. With G = 1, all query
// heads share one KV head. This is *multi-query attention* (MQA; Shazeer 2019). The usual attention with G = H is
// called *multi-head attention* (MHA). With eight query heads, each of them uses this KV head:
//
//     query head        0   1   2   3   4   5   6   7
//     MHA, G = 8        0   1   2   3   4   5   6   7
//     GQA, G = 2        0   0   0   0   1   1   1   1
//     MQA, G = 1        0   0   0   0   0   0   0   0
//
// The cache then has these sizes:
//
//     MHA     2 · H · d_h      numbers per token and block
//     GQA     2 · G · d_h
//     MQA     2 · d_h
//
// Llama 3 8B has the same sizes with G = 8: a token takes 0.131 MB.

double megabytes_per_token(double layers, double kv_heads, double head_width, double bytes) {
  return 2 * layers * kv_heads * head_width * bytes / 1e6;
}

void bytes_by_hand(kit::Report& report) {
  const double llama2 = megabytes_per_token(32, 32, 128, 2);
  kit::check_worked_example(
      report, "megabytes per token, and gigabytes per context",
      {{llama2, 0.524}, {llama2 * 4096 / 1000, 2.147}, {megabytes_per_token(32, 8, 128, 2), 0.131}});
  report.check("seven contexts take more than 13.5 GB, six do not",
               7 * llama2 * 4.096 > 13.5 && 6 * llama2 * 4.096 < 13.5);
}

// ---- 2. Latent keys ---------------------------------------------------------------------------------------
// In GQA, query heads share keys and values. In DeepSeek-V2 (2024), the heads share only one small vector per token,
// the *latent vector* c. Each head has its own two matrices, which compute its key and its value from c. This is
// *multi-head latent attention* (MLA). Let x be the vector of one token at the input of the layer, and i the index of
// a head. The names are those of the paper: W^DKV maps down to a small width, for keys (K) and values (V), and W^UK
// and W^UV map up again.
//
//     c = W^DKV x             (d_c)       stored
//     k_i = W^UK_i c          (d_h)       computed from c
//     v_i = W^UV_i c          (d_h)       computed from c
//
// So every head has its own keys and values, but the cache stores only the d_c numbers of c for each token. If we
// computed all keys and values again at each step, we would save memory but lose time. We can avoid this, because the
// score is a product of three factors, and we may choose which two to multiply first:
//
//     q_i · (W^UK_i c)  =  ((W^UK_i)ᵀ q_i) · c
//
// We multiply the new query by (W^UK_i)ᵀ once, and take the dot product of the result and each stored vector. The
// matrix is *absorbed* into the query. The same works for the values. With the attention weights w_t of the tokens t,
// Σ w_t W^UV_i c_t = W^UV_i (Σ w_t c_t).
//
// Rotary positions do not fit into this scheme. They rotate the key of token t by a matrix R_t, which depends on t.
// The score is then q_i · (R_t W^UK_i c_t), so we would have to absorb a different matrix for each token t. Therefore
// MLA has a separate *rotary part*: one short key R_t W^KR x that all heads share (d_R numbers, stored too), and one
// short query for each head. The score is the sum of both dot products, divided by √(d_h + d_R).
//
// The following two functions compute one head for all T tokens of a text. Of the earlier tokens, both need only c
// and the rotary key, which a cache can store. read_keys() computes all keys and values from them. read_latents()
// absorbs the matrices.

struct LatentHead {
  Tensor q, q_r;    // (T, d_h), (T, d_R), the rotary part already rotated
  Tensor c, k_r;    // (T, d_c), (T, d_R): what the cache stores
  Tensor w_k, w_v;  // (d_h, d_c)
};

Tensor weights_of(const Tensor& content_scores, const LatentHead& h) {
  const Tensor scores = content_scores + matmul(h.q_r, transpose(h.k_r));
  const Size time = scores.size(0), width = h.q.size(1) + h.q_r.size(1);
  return masked_softmax(scores / std::sqrt(static_cast<double>(width)), Mask::causal(time, time));
}

Tensor read_keys(const LatentHead& h) {
  const Tensor k = matmul(h.c, transpose(h.w_k)), v = matmul(h.c, transpose(h.w_v));  // of all tokens
  return matmul(weights_of(matmul(h.q, transpose(k)), h), v);
}

Tensor read_latents(const LatentHead& h) {
  const Tensor absorbed = matmul(h.q, h.w_k);  // (T, d_c): each row is (W^UK)ᵀ q
  return matmul(matmul(weights_of(matmul(absorbed, transpose(h.c)), h), h.c), transpose(h.w_v));
}

/// x (T, d) → (T, d): all heads with the weights of the layer.
Tensor latent_attention(Tensor (*read)(const LatentHead&), const LatentAttention& layer, const Tensor& x) {
  const LatentAttentionOptions& sizes = layer.options();
  const RotaryPositions turn({}, {.head_width = sizes.rotary_width}, {.base = sizes.base});
  const auto rows = [](const Tensor& w, Size head, Size width) {
    return slice(w, 0, head * width, (head + 1) * width);
  };
  const Tensor c = matmul(x, transpose(layer.down.weight));
  const Tensor k_r = turn.rotate(matmul(x, transpose(layer.rotary_key->weight)), 0);
  std::vector<Tensor> heads;
  for (Size i = 0; i < sizes.heads; ++i) {
    const Tensor w_q = rows(layer.query.weight, i, sizes.head_width);
    const Tensor w_qr = rows(layer.rotary_query->weight, i, sizes.rotary_width);
    heads.push_back(read({matmul(x, transpose(w_q)), turn.rotate(matmul(x, transpose(w_qr)), 0), c, k_r,
                          rows(layer.key_up.weight, i, sizes.head_width),
                          rows(layer.value_up.weight, i, sizes.head_width)}));
  }
  return matmul(concat(heads, -1), transpose(layer.output.weight));
}

// With d_c = 4 d_h and d_R = d_h / 2, as in DeepSeek-V2, MLA stores 4.5 d_h numbers for each token and block,
// whatever the number of heads. One KV head of GQA stores 2 d_h numbers, for its key and its value.

void check_latents(std::uint64_t seed, kit::Report& report) {
  const kit::Question groups = report.ask(
      "latent vectors as heads",
      "A GQA model has a cache as large as that of MLA with these sizes. How many KV heads would it have, if "
      "the number could be a fraction?",
      {"half a head, because MLA stores no keys", "between 2 and 3", "4.5, one for each d_h"});
  LatentAttention layer({}, {.width = 6, .heads = 2, .head_width = 3, .rank = 4, .rotary_width = 2});
  layer.initialise(seed, DType::f64);
  const Tensor x = random_normal({5, 6}, seed, DType::f64);
  const auto by_nn = [&] { return squeeze(layer(unsqueeze(x, 0), VisiblePairs({.causal = true}, 5, 5)), 0); };
  for (const auto& [name, read] :
       {std::pair{"MLA with keys", &read_keys}, {"MLA with absorbed matrices", &read_latents}})
    kit::check_by_hand(
        report, name, [&, read = read] { return latent_attention(read, layer, x); }, by_nn,
        layer.parameters(), seed);
  const ModelSizes sizes;
  const double heads = static_cast<double>(numbers_per_token(Kind::mla, sizes)) /
                       static_cast<double>(numbers_per_token(Kind::mqa, sizes));
  report.figure("numbers per token of MLA ÷ numbers per token of one KV head", heads);
  report.answer(groups, 'b', heads == 2.25,
                "A KV head stores a key and a value, 2 d_h numbers. 4.5 d_h numbers are 2.25 such heads.");
}

// ---- 3. Four sorters --------------------------------------------------------------------------------------
// Is a model with fewer stored numbers worse? We train one model of each kind on the task of lesson 20, sorting four
// to eight digits. Each model has two blocks of width 64, and each block has eight heads of width 8. GQA has two KV
// heads. MLA has d_c = 32 and d_R = 4. (train.cpp contains the training loop, which is that of lesson 20.)

std::unique_ptr<LanguageModel> train_sorters(const kit::Options& options, kit::Report& report) {
  const ModelSizes sizes;
  const Indices text = kit::draw_sorting(kit::Random(options.seed, 3), 16, 8, 8, true).inputs;
  std::unique_ptr<LanguageModel> grouped;
  for (const Kind kind : kKinds) {
    std::unique_ptr<LanguageModel> gpt = train_sorter(kind, options);
    const std::string name = name_of(kind);
    report.at_least(name + ": held-out answers with all digits right",
                    percent_sorted(*gpt, kit::kFewestDigits, options), 99.9, "%");
    StackCache cache = gpt->cache(1);
    report.at_most(name + ": relative difference of logits with and without cache",
                   kit::relative_difference(logits_with_cache(*gpt, text, cache), (*gpt)(text)), 1e-5);
    const Size tokens = text.count(), formula = sizes.layers * numbers_per_token(kind, sizes) * 4;
    report.figure(name + ": bytes per token in the cache",
                  static_cast<double>(bytes_in(cache)) / static_cast<double>(tokens), "bytes");
    report.check(name + ": the formula gives these bytes", bytes_in(cache) == tokens * formula);
    if (kind == Kind::gqa) grouped = std::move(gpt);
  }
  return grouped;
}

// With four bytes per number and two blocks, a token takes these bytes in the cache. The program measures them from
// the tensors of the cache:
//
//     MHA   1024 bytes        2 · 2 · 8 · 8 numbers
//     GQA    256 bytes        2 · 2 · 2 · 8
//     MQA    128 bytes        2 · 2 · 1 · 8
//     MLA    288 bytes        2 · (32 + 4)
//
// MLA stores slightly more than GQA with two KV heads. But its cache does not grow with the number of heads, so MLA
// saves more in a model with many heads.
//
// Each run checks that every model sorts at least 99.9 % of 10,000 held-out strings without a mistake. So on this
// small task, the smallest cache is good enough. In large models, a small cache has a price: Ainslie et al. report
// that MQA loses some quality, and that GQA loses little. Llama 3, for example, uses GQA.
//
// The logits with and without the cache are equal up to rounding. This holds for MLA too, although the step with a
// cache uses the absorbed matrices, and the pass without a cache computes all keys and values.

// ---- 4. One decoding step with any cache ------------------------------------------------------------------
// In the rest of the chapter, we keep the GQA model and change how keys and values are stored. So we write its
// decoding step, which processes one new token, ourselves. Query heads that share a KV head form a group. Therefore q
// has the shape (B, groups, heads per group, 1, d_h). The keys have the shape (B, groups, 1, T, d_h), which is
// broadcast over the heads of a group.

template <class Cache>
Tensor read(const Tensor& q, const Cache& cache) {
  const Tensor scores = matmul(q, transpose(cache.keys())) / std::sqrt(static_cast<double>(q.size(-1)));
  return matmul(softmax(scores, -1), cache.values());  // no mask: the cache has no later tokens
}

Tensor read(const Tensor& q, const PagedCache& text);  // section 6

// A cache needs only append(), keys() and values(). Keys are rotated by their position before they are stored. So a
// cache may return the tokens in any order, if the order is the same for keys and values: the weighted sum of the
// values does not depend on it.

/// tokens (B, 1) at `position` → logits (B, 1, V)
template <class Cache>
Tensor step(const LanguageModel& gpt, const Indices& tokens, Size position, std::vector<Cache>& caches) {
  Tensor x = gpt.input(tokens, position);
  for (std::size_t layer = 0; layer < caches.size(); ++layer) {
    const TransformerBlock& block = gpt.stack.blocks[static_cast<Size>(layer)];
    const MultiHeadOptions& sizes = block.self->options();
    const RotaryPositions turn({}, {.head_width = sizes.head_width}, {});
    const Tensor normed = (*block.self_norm)(x);
    const PreparedKV added = block.self->prepare(normed, normed, Mask{}, position);  // rotated
    caches[layer].append(added.keys, added.values);
    const Tensor q = reshape(block.self->query(normed),
                             {x.size(0), sizes.kv_heads, sizes.heads / sizes.kv_heads, 1, sizes.head_width});
    const Tensor read_by_heads = read(turn.rotate(q, position), caches[layer]);
    x = x + block.self->output(reshape(read_by_heads, x.shape()));
    x = x + (*block.feed_forward)((*block.feed_forward_norm)(x));
  }
  return gpt.output((*gpt.stack.norm)(x));
}

/// Logits (B, T, V) of tokens (B, T) that follow `before` tokens in the caches.
template <class Cache>
Tensor steps(const LanguageModel& gpt, const Indices& ids, std::vector<Cache>& caches, Size before = 0) {
  std::vector<Tensor> logits;
  for (Size t = 0; t < ids.shape()[1]; ++t)
    logits.push_back(step(gpt, ids.columns(t, t + 1), before + t, caches));
  return concat(logits, 1);
}

// The plain cache is KeyValueCache in nn/. With it, our step computes the same logits as the model.

void check_step(const LanguageModel& gpt, const kit::Options& options, kit::Report& report) {
  const Indices text = kit::draw_sorting(kit::Random(options.seed, 7), 8, 8, 8, true).inputs;
  std::vector<KeyValueCache> caches(2, KeyValueCache(16));
  report.at_most("our step: relative difference of the logits",
                 kit::relative_difference(steps(gpt, text, caches), gpt(text)), 1e-5);
}

// ---- 5. A rolling cache -----------------------------------------------------------------------------------
// In a *sliding window* (Beltagy et al. 2020), each token attends only to the last W tokens, itself included. Older
// keys and values are never read again. So W slots are enough: the key and the value of position p are stored in slot
// p mod W, where they replace those of position p − W. This is a *rolling cache*, a ring buffer. Its size is
// constant, however long the text is. The table shows which position each of four slots contains:
//
//     W = 4                 slot 0    slot 1    slot 2    slot 3
//     after position 3         0         1         2         3
//     after position 5         4         5         2         3

void roll(const LanguageModel& gpt, const kit::Options& options, kit::Report& report) {
  constexpr Size kWindow = 6;
  const kit::Question window = report.ask(
      "a window of six tokens",
      "The model was trained with attention to all earlier tokens. Now each token attends only to the last "
      "six. How many answers of eight digits are right?",
      {"almost all, because two blocks see twice as far", "about half", "almost none"});
  TransformerOptions sizes = model_options(Kind::gqa, {.vocabulary = kit::kSortSymbols});
  sizes.block.window = kWindow;
  LanguageModel windowed(sizes);
  windowed.load_state(gpt.state());
  windowed.eval();
  const Indices text = kit::draw_sorting(kit::Random(options.seed, 4), 8, 8, 8, true).inputs;
  std::vector<RollingCache> rings;
  for (Size layer = 0; layer < 2; ++layer) rings.emplace_back(kWindow);
  const Tensor rolled = steps(gpt, text, rings);
  report.at_most("ring and window: relative difference of the logits",
                 kit::relative_difference(rolled, windowed(text)), 1e-5);
  report.check("without a window the logits differ", kit::relative_difference(rolled, gpt(text)) > 0.01);
  StackCache plain = gpt.cache(16);
  gpt(text, plain);
  report.figure(
      "bytes of the rings ÷ bytes of the plain cache after 16 tokens",
      static_cast<double>(rings[0].bytes() + rings[1].bytes()) / static_cast<double>(bytes_in(plain)));
  const double right = percent_sorted(windowed, kit::kMostDigits, options);
  report.figure("answers of eight digits right with the window", right, "%");
  report.answer(
      window, 'c', right < 20,
      "The first digits of the string are outside the window. A model must be trained with the window "
      "that it is used with.");
}

// ---- 6. Pages ---------------------------------------------------------------------------------------------
// A server answers many users at once, and does not know in advance how long each text will be. If it reserves memory
// for the longest possible text, most of this memory stays empty. *Paged attention* (Kwon et al. 2023) divides the
// memory into *pages* for a fixed number of positions. (The paper calls them blocks.) Each text has a *page table*
// with the numbers of its pages. The pages may be anywhere in memory. Only the last page of a text can be partly
// empty.
//
//     position p   →   page table[p / page size], place p mod page size       (p / page size is rounded down)
//
// Attention reads one page after another.

Tensor read(const Tensor& q, const PagedCache& text) {
  std::vector<Tensor> scores;
  const Size pages = static_cast<Size>(text.table().size());
  for (Size i = 0; i < pages; ++i) scores.push_back(matmul(q, transpose(text.page_keys(i))));
  const Tensor weights = softmax(concat(scores, -1) / std::sqrt(static_cast<double>(q.size(-1))), -1);
  Tensor sum = zeros({1}, q.dtype());
  for (Size i = 0, begin = 0; i < pages; ++i) {
    const Tensor values = text.page_values(i);
    sum = sum + matmul(slice(weights, -1, begin, begin + values.size(-2)), values);
    begin += values.size(-2);
  }
  return sum;
}

// Many texts begin with the same prompt. Their tables can contain the same pages, so the prompt is stored once.
// Before a token is appended to a page that several texts share, the page is copied. This is *copy on write*. Full
// pages are never written again, so only the last page of the prompt is ever copied.
//
// In our example, a page has four positions, and the prompt has nine tokens. So it takes three pages, and the third
// one contains a single token. Both texts then grow to 16 tokens, first one text and then the other. These are their
// page tables in each block:
//
//     positions                            0–3    4–7    8–11    12–15
//     both texts, after the prompt          0      1      2
//     first text, at the end                0      1      3        4        page 3 begins as a copy of page 2
//     second text, at the end               0      1      2        5

void page(const LanguageModel& gpt, const kit::Options& options, kit::Report& report) {
  constexpr Size kPage = 4, kPrompt = 9;  // eight digits and "=": two full pages and one position
  const Indices text = kit::draw_sorting(kit::Random(options.seed, 5), 1, 8, 8, true).inputs;
  std::deque<PagePool> pools;  // one for each block
  std::vector<PagedCache> first;
  for (Size layer = 0; layer < 2; ++layer) first.emplace_back(pools.emplace_back(kPage));
  const Tensor prompt = steps(gpt, text.columns(0, kPrompt), first);
  std::vector<PagedCache> second = first;  // copies the tables, not the pages
  report.figure("pages of a block after the prompt, for two texts",
                static_cast<double>(pools[0].pages_in_use()));
  // The second text continues with other digits.
  std::vector<std::int64_t> other = text.to_vector();
  for (std::size_t i = kPrompt; i < other.size(); ++i) other[i] = 9 - other[i];
  const Indices changed(other, text.shape());
  const Tensor one = concat({prompt, steps(gpt, text.columns(kPrompt, 16), first, kPrompt)}, 1);
  const Tensor two = concat({prompt, steps(gpt, changed.columns(kPrompt, 16), second, kPrompt)}, 1);
  report.at_most("first text: relative difference of the logits", kit::relative_difference(one, gpt(text)),
                 1e-5);
  report.at_most("second text: relative difference of the logits",
                 kit::relative_difference(two, gpt(changed)), 1e-5);
  report.figure("pages of a block at the end", static_cast<double>(pools[0].pages_in_use()));
  report.check("2 shared pages and 2 of each text", pools[0].pages_in_use() == 6 &&
                                                        first[0].table() == std::vector<Size>{0, 1, 3, 4} &&
                                                        second[0].table() == std::vector<Size>{0, 1, 2, 5});
}

// ---- 7. Eight bits ----------------------------------------------------------------------------------------
// Finally, we can store each number in fewer bits. This is called *quantisation*. The key or the value of one head at
// one token is a row of d_h numbers x. For each row, we store the *scale* s = max |x| / 127 in f32. For each number
// of the row, we store the integer round(x / s), which is from −127 to 127, in one byte. When attention reads a
// number, it multiplies the integer by s. The error is at most s / 2.
//
// So a row takes d_h + 4 bytes instead of 4 d_h. With d_h = 8, the cache shrinks to 12 / 32 = 0.375 of its size. With
// wider heads, the scale matters less: with d_h = 128, the cache shrinks to 132 / 512, about a quarter of its size.

void quantise(const LanguageModel& gpt, const kit::Options& options, kit::Report& report) {
  const kit::NextTokens test = kit::draw_sorting(kit::Random(options.seed, 6), options.smoke ? 4 : 500,
                                                 kit::kFewestDigits, kit::kMostDigits, true);
  std::vector<QuantisedCache> caches(2);
  const Tensor logits = steps(gpt, test.inputs, caches), plain = gpt(test.inputs);
  const double loss = cross_entropy(plain, test.targets).item();
  report.figure("loss in f32", loss, "nats");
  report.at_most("loss in 8 bits − loss in f32", cross_entropy(logits, test.targets).item() - loss, 0.01,
                 "nats");
  report.figure("relative difference of the logits", kit::relative_difference(logits, plain));
  StackCache cache = gpt.cache(16);
  gpt(test.inputs, cache);
  const double share =
      static_cast<double>(caches[0].bytes() + caches[1].bytes()) / static_cast<double>(bytes_in(cache));
  report.check_quoted("bytes in 8 bits ÷ bytes in f32", share, 0.375, 1e-9);
}

// ---- 8. Bytes and speed -----------------------------------------------------------------------------------
// The program measures larger models without training: two blocks of width 512 with eight heads. It plots the size of
// the cache and the speed of generation against the number of tokens in the cache.
//
// The size grows in proportion to the number of tokens. On logarithmic axes, the four curves are parallel lines. The
// distance between two of them shows the ratio of their numbers per token. With a short context, the speed changes
// little, because a step mainly reads the weights. With a long context, a step mainly reads the cache, so fewer
// stored numbers give more tokens per second.
//
// MLA is an exception: it reads little but computes more. For each head and each token in the cache, a step of MHA
// needs 2 · d_h multiplications: d_h for the score, and d_h for the sum of the values. MLA with absorbed matrices
// needs 2 · d_c + d_R, more than four times as many with our sizes. A GPU often waits for its memory, so there it is
// worth computing more to read less. On our processor, it is not: MLA reads less than a third of MHA's bytes, and yet
// it is slower.

void draw(const kit::Options& options, kit::Report& report) {
  report.at_least("bytes of MHA ÷ bytes of MLA", measure_kinds(options), 3.5);
}

// What to remember. The cache stores keys and values of all tokens: 2 · blocks · KV heads · head width numbers per
// token. GQA and MQA have fewer KV heads. MLA stores one latent vector and a short rotary key per token. Each head
// has matrices that compute its keys and values from the latent vector. A decoding step absorbs these matrices into
// the query and the result. A rolling cache has a constant size. It needs a model that was trained with a sliding
// window. Pages waste little memory. They also let texts share a prompt, if a shared page is copied before it is
// changed. Eight bits per number change the loss very little.
//
// Exercises: lessons/practise 35 (attention over a page table; absorbed matrices; debug copy on write; keys and
// values in few bits).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("35_cache", "make the KV cache smaller");
  program.steps(3000, 2);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    report.section("Bytes per token");
    bytes_by_hand(report);
    report.section("Latent keys");
    check_latents(options.seed, report);
    report.section("Four sorters");
    const std::unique_ptr<LanguageModel> gpt = train_sorters(options, report);
    report.section("One decoding step with any cache");
    check_step(*gpt, options, report);
    report.section("A rolling cache");
    roll(*gpt, options, report);
    report.section("Pages");
    page(*gpt, options, report);
    report.section("Eight bits");
    quantise(*gpt, options, report);
    report.section("Bytes and speed");
    draw(options, report);
  });
}
