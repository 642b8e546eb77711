// 20.1 write_with_a_cache: Generate with a KV cache
// implement, 20 minutes
//
// A small GPT has one causal head and no norm. For a token id_t at position t, counted from 0:
//
//     x_t = words[id_t] + places[t]          read_t = attention of q_t over the keys and values of positions 0 … t
//     logits_t = (x_t + read_t) wordsᵀ
//
// Write the step for one more token, with a cache of the keys and values so far. Append the token's own key and
// value to the cache, and return the logits (1, V).
//
// All matrices W are (d, d), and a row x is projected as x Wᵀ. The scores are q · k / √d. Before the first
// token, the tensors of the cache are undefined: cache.keys.defined() is false. Later they are (t, d).
#include "lessons/grader/answer.hpp"

struct Weights {
  Tensor words, places;  // (V, d), (longest, d)
  Tensor w_q, w_k, w_v;  // (d, d)
};
struct Cache {
  Tensor keys, values;  // (t, d), for the t tokens so far
};

Tensor next_logits(const Weights& weights, Cache& cache, Size id) {
  //[ about ten lines
  //: return not_written_yet();
  const Size t = cache.keys.defined() ? cache.keys.size(0) : 0;  // one key per earlier token
  const Tensor word = slice(weights.words, 0, id, id + 1);
  const Tensor x = word + slice(weights.places, 0, t, t + 1);  // (1, d)
  const Tensor q = matmul(x, transpose(weights.w_q));
  const Tensor k = matmul(x, transpose(weights.w_k));
  const Tensor v = matmul(x, transpose(weights.w_v));
  cache.keys = t == 0 ? k : concat({cache.keys, k}, 0);  // (t + 1, d), the token's own key included
  cache.values = t == 0 ? v : concat({cache.values, v}, 0);
  const double root = std::sqrt(static_cast<double>(x.size(1)));
  const Tensor scores = matmul(q, transpose(cache.keys)) / root;  // (1, t + 1): there are no later tokens yet
  const Tensor read = matmul(softmax(scores, -1), cache.values);
  return matmul(x + read, transpose(weights.words));  // (1, V)
  //]
}

// hint: What is the position of the new token? The cache shows how many tokens came before it. Does a token
//   attend to itself?
// hint: Update the cache before you attend: cache.keys = first token ? k : concat({cache.keys, ____}, 0), and
//   the same for the values.
// hint: x = slice(words, 0, id, id + 1) + slice(places, 0, t, t + 1). matmul(q, transpose(keys)) / √d has the
//   shape (1, t + 1). The logits are matmul(x + read, transpose(words)).
//
// wrong: You give every token position 0. So only the first logits are right. Each call gets one token, but
//   this token is at position t.
// - const Tensor x = word + slice(weights.places, 0, t, t + 1);
// + const Tensor x = word + slice(weights.places, 0, 0, 1);
// wrong: You count positions from 1. As in training, the first token of a text is at position 0.
// - const Tensor x = word + slice(weights.places, 0, t, t + 1);
// + const Tensor x = word + slice(weights.places, 0, t + 1, t + 2);
// wrong: Your cache holds only the newest key and value, so a token attends only to itself. The length of the
//   cache must grow by one with each token.
// - cache.keys = t == 0 ? k : concat({cache.keys, k}, 0);
// - cache.values = t == 0 ? v : concat({cache.values, v}, 0);
// + cache.keys = k;
// + cache.values = v;
// wrong: Your keys and values are in different orders: the newest key is first, but the newest value is last.
//   So the weight of each token is applied to the value of another token.
// - cache.keys = t == 0 ? k : concat({cache.keys, k}, 0);
// + cache.keys = t == 0 ? k : concat({k, cache.keys}, 0);
// wrong: You clear the cache at the end. So every token finds an empty cache, gets position 0 and attends only
//   to itself. Leave the keys and values in cache.keys and cache.values.
// - const Tensor scores = matmul(q, transpose(cache.keys)) / root;
// - const Tensor read = matmul(softmax(scores, -1), cache.values);
// + const Tensor scores = matmul(q, transpose(cache.keys)) / root;
// + const Tensor read = matmul(softmax(scores, -1), cache.values);
// + cache = {};
// wrong: You compute x W. The matrices are stored as in a Linear, with one row per output number, so the
//   projection is x Wᵀ.
// - const Tensor q = matmul(x, transpose(weights.w_q));
// - const Tensor k = matmul(x, transpose(weights.w_k));
// - const Tensor v = matmul(x, transpose(weights.w_v));
// + const Tensor q = matmul(x, weights.w_q);
// + const Tensor k = matmul(x, weights.w_k);
// + const Tensor v = matmul(x, weights.w_v);
// wrong: You store the keys as values. Keys determine the weights, and values are averaged with these weights.
// - cache.values = t == 0 ? v : concat({cache.values, v}, 0);
// + cache.values = cache.keys;
// wrong: The residual is missing. The logits must depend on x + read, not on read alone.
// - return matmul(x + read, transpose(weights.words));
// + return matmul(read, transpose(weights.words));
// wrong: The scale is missing. The scores are q · k / √d. At the first token the mistake does not show, because
//   a single key gets the weight 1 anyway.
// - const double root = std::sqrt(static_cast<double>(x.size(1)));
// + const double root = 1;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Weights drawn(Judge& judge, Size vocabulary, Size longest, Size d) {
  const auto draw = [&](const Dims& shape) { return judge.uniform(shape, -1.5, 1.5); };
  return {draw({vocabulary, d}), draw({longest, d}), draw({d, d}), draw({d, d}), draw({d, d})};
}

/// Computes all logits (T, V) of the whole text at once in loops, without a cache.
Tensor all_at_once(const Weights& w, const std::vector<Size>& ids) {
  const Size count = static_cast<Size>(ids.size()), d = w.words.size(1), vocabulary = w.words.size(0);
  const auto in = [&](Size t, Size c) {
    return w.words.at({ids[static_cast<std::size_t>(t)], c}) + w.places.at({t, c});
  };
  const auto role = [&](const Tensor& matrix, Size t, Size row) {
    double sum = 0;
    for (Size c = 0; c < d; ++c) sum += matrix.at({row, c}) * in(t, c);
    return sum;
  };
  std::vector<double> logits;
  for (Size t = 0; t < count; ++t) {
    std::vector<double> state(static_cast<std::size_t>(d), 0.0);
    double whole = 0;
    for (Size j = 0; j <= t; ++j) {
      double score = 0;
      for (Size c = 0; c < d; ++c) score += role(w.w_q, t, c) * role(w.w_k, j, c);
      const double share = std::exp(score / std::sqrt(static_cast<double>(d)));
      whole += share;
      for (Size c = 0; c < d; ++c) state[static_cast<std::size_t>(c)] += share * role(w.w_v, j, c);
    }
    for (Size id = 0; id < vocabulary; ++id) {
      double logit = 0;
      for (Size c = 0; c < d; ++c)
        logit += (in(t, c) + state[static_cast<std::size_t>(c)] / whole) * w.words.at({id, c});
      logits.push_back(logit);
    }
  }
  return tensor(logits, {count, vocabulary}, DType::f64);
}

/// Computes x Wᵀ for each token of the text, (T, d), in loops.
Tensor made_by(const Weights& w, const Tensor& matrix, const std::vector<Size>& ids) {
  const Size count = static_cast<Size>(ids.size()), d = w.words.size(1);
  std::vector<double> made;
  for (Size t = 0; t < count; ++t)
    for (Size row = 0; row < d; ++row) {
      made.push_back(0);
      for (Size c = 0; c < d; ++c)
        made.back() +=
            matrix.at({row, c}) * (w.words.at({ids[static_cast<std::size_t>(t)], c}) + w.places.at({t, c}));
    }
  return tensor(made, {count, d}, DType::f64);
}

/// Passes the text token by token, and compares each token's logits.
void follow(Judge& judge, const Weights& weights, const std::vector<Size>& ids) {
  const Tensor right = all_at_once(weights, ids);
  Cache cache;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const Tensor came = next_logits(weights, cache, ids[t]);
    judge.same(came, slice(right, 0, static_cast<Size>(t), static_cast<Size>(t) + 1),
               "the logits after token " + std::to_string(t + 1));
  }
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes token by token the same logits as for the whole text at once", [&] {
    const auto table = [](const NestedList& numbers) { return tensor(numbers, DType::f64); };
    const Weights weights = {
        table({{1, 0}, {0, 1}, {0.5, -0.5}}), table({{0.2, 0.1}, {-0.3, 0.4}, {0.6, -0.1}, {0.1, 0.3}}),
        table({{1, 0.5}, {-0.2, 1}}), table({{0.5, -1}, {0.8, 0.3}}), table({{2, 0.5}, {-1, 1.5}})};
    judge.example("the text 2 0 1 with three tokens, d = 2");
    follow(judge, weights, {2, 0, 1});
  });
  judge.claim("computes the same logits for other texts and widths", [&] {
    judge.each_size({{"tokens", 1, 7}, {"vocabulary", 2, 5}, {"d", 1, 4}}, [&](const Sizes& n) {
      const Weights weights = drawn(judge, n[1], n[0] + 1, n[2]);
      std::vector<Size> ids;
      for (Size t = 0; t < n[0]; ++t) ids.push_back(judge.random().below(n[1]));
      follow(judge, weights, ids);
    });
  });
  judge.claim("appends one key and one value per token to the cache", [&] {
    const Weights weights = drawn(judge, 3, 6, 2);
    Cache cache;
    const std::vector<Size> ids = {1, 1, 0, 2, 1};
    for (const Size id : ids) next_logits(weights, cache, id);
    judge.example("a text of five tokens, d = 2");
    judge.same(cache.keys, made_by(weights, weights.w_k, ids), "the keys in the cache, one row per token");
    judge.same(cache.values, made_by(weights, weights.w_v, ids),
               "the values in the cache, one row per token");
  });
}
