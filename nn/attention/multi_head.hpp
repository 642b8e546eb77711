// Multi-head attention (Vaswani et al. 2017, section 3.2.2): several questions at once, each in a width of
// its own.
#pragma once

#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"

namespace tapestry {

struct MultiHeadOptions {
  /// d_model: of queries and of the result.
  Size width = 0;
  /// H heads of queries.
  Size heads = 1;
  /// Heads of keys and values, a divisor of `heads`: each serves several heads of queries (grouped-query
  /// attention, Ainslie et al. 2023), 1 serves all (multi-query, Shazeer 2019); 0: as many as heads.
  Size key_heads = 0;
  /// Of what keys and values are made from; 0: width.
  Size key_width = 0, value_width = 0;
  /// d_k and d_v of one head; 0: width / heads, and d_k.
  Size head_width = 0, value_head_width = 0;
  Bias bias = Bias::yes;  // of all four projections
  /// No query sees a later key. Only told to `attend.positions`: the mask is the caller's.
  bool causal = false;
  ScoreFactory score = scaled_dot();  // compares the queries and keys of a head
  /// Normaliser, dropout of weights, strictness, positions.
  AttentionOptions attend = {};
};

/// head_i = attend(Q W_i^Q, K W_i^K, V W_i^V), result = concat(heads) W^O. The heads are strided views of one
/// product each; nothing is copied to split or to join them.
class MultiHeadAttention : public Module {
 public:
  MultiHeadAttention(Parent parent, const MultiHeadOptions& options);
  explicit MultiHeadAttention(const MultiHeadOptions& options) : MultiHeadAttention(Parent{}, options) {}

  /// keys (B, Tk, key_width), values (B, Tk, value_width): projected and split into heads, once for any
  /// number of queries. A mask broadcasts to (Tq, Tk), (B, Tq, Tk), or (B, heads, Tq, Tk). Rows of the inputs
  /// that no query of any head may see touch nothing. The keys stand at the places `first`, `first` + 1, …
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const Mask& mask = {}, Size first = 0) const;
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths) const;

  /// queries (B, Tq, width) → context (B, Tq, width) and weights (B, H, Tq, Tk). The queries stand at the
  /// places `first`, `first` + 1, … for windows and rotary positions; schemes of distances (Shaw, T5,
  /// ALiBi) take the last query for the last key. A memory with a batch of 1 serves all rows; another batch
  /// than the queries' throws.
  AttentionOutput operator()(const Tensor& queries, const PreparedKV& memory, Size first = 0) const;
  /// The context alone, in tiles where that can be: see Attention::context.
  Tensor context(const Tensor& queries, const PreparedKV& memory, Size first = 0) const;
  AttentionOutput operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                             const Mask& mask = {}) const {
    return (*this)(queries, prepare(keys, values, mask));
  }
  AttentionOutput operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                             const ValidLengths& lengths) const {
    return (*this)(queries, prepare(keys, values, lengths));
  }

  /// As given, with every 0 filled in.
  const MultiHeadOptions& options() const { return options_; }

 private:
  /// The queries of each head: (B, heads…, Tq, d). Throws if their batch is not the memory's.
  Tensor by_heads(const Tensor& queries, const PreparedKV& memory) const;

  MultiHeadOptions options_;  // before the layers, which are made from it

 public:
  /// W^Q (H · d_k, width), W^K, W^V, W^O (width, H · d_v), each with its bias if asked for
  Linear query, key, value, output;
  /// What each head does; a WeightRecorder on it sees all heads, grouped ones as (B, key_heads,
  /// H / key_heads, Tq, Tk).
  Attention attention;
};

}  // namespace tapestry
