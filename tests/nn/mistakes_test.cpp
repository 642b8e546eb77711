// Mistakes of a user who extends attention, at run time: each message says what must hold, what was given, and what to
// do, with the user's line where the library knows it. tests/compile has the mistakes that do not compile.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/attention/score_lambda.hpp"
#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "nn/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/training_state.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Mistake {
  const char* name;
  std::function<void()> run;
  std::vector<std::string> parts;  // of the message
};

/// Line of the last call that a message must name; 0: it has no line.
long line = 0;

void check(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    line = 0;
    const std::string message = test::message_of(mistake.run);
    CAPTURE(mistake.name, message);
    for (const std::string& part : mistake.parts) CHECK_THAT(message, ContainsSubstring(part));
    if (line > 0) CHECK_THAT(message, ContainsSubstring(fmt::format("mistakes_test.cpp:{})", line)));
  }
}

Tensor leaf(const Dims& shape, const char* name = "") { return variable(ones(shape), name); }

/// An op of the user's, whose rule returns `gradient`.
Tensor own(const Tensor& x, const Tensor& gradient, CallSite at = {}) {
  return op<"own">(at, x.detach(), wrt(x, [gradient](const Tensor&) { return gradient; }));
}

/// Runs backward through an op whose rule returns `gradient`.
void backward_with(const Tensor& gradient) {
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = own(x, gradient, CallSite(__FILE__, __LINE__));
  line = __LINE__ - 1;
  tape.backward(sum(y));
}

enum class Fault { none, width, forgets };

/// A self-attention with a fault.
struct Faulty : SelfAttention {
  Faulty(Parent parent, Fault fault) : SelfAttention(std::move(parent)), fault_(fault) {}
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override {
    return fault_ == Fault::width ? concat({x, x}, -1) : x;
  }
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    return fault_ == Fault::forgets ? x : SelfAttention::next(x, pairs, cache);
  }

  Fault fault_;
};

TransformerOptions one_layer() { return {.vocabulary = 5, .layers = 1, .block = {.width = 8, .heads = 2}}; }

/// Passes the tokens 1 and 2 to a model.
Tensor read(TransformerOptions options, const Mask& mask = {}) {
  LanguageModel model(options);
  model.initialise(1);
  return model(Indices({1, 2}, {1, 2}), mask);
}

/// Passes the token 1 to a model with a cache.
Tensor read_cached(TransformerOptions options) {
  LanguageModel model(options);
  model.initialise(1);
  StackCache cache = model.cache(4);
  return model(Indices({1}, {1, 1}), cache);
}

TransformerOptions with_own(Fault fault) {
  TransformerOptions options = one_layer();
  options.block.attention = self_attention<Faulty>(fault);
  return options;
}

Tensor attended(const ScoreFactory& score, const AttentionOptions& options = {}) {
  const Tensor x = ones({1, 3, 4});
  return Attention(score, options)(x, x, ones({1, 3, 4})).context;
}

ScoreMod bias_of(const Tensor& table) {
  return score_mod([](auto s, auto at, auto bias) { return s + bias(at.j); }, table);
}

}  // namespace

TEST_CASE("mistakes in an op of the user's name the op and its line") {
  check({
      {"a gradient of another shape",
       [] { backward_with(ones({2})); },
       {"[own] the rule of argument 0 must return its shape, got (2) for (3); sum or reshape it"}},
      {"a gradient of another type",
       [] { backward_with(ones({3}, DType::f64)); },
       {"[own] the rule of argument 0 must return the argument's type, got f64 for f32; convert it"}},
      {"no gradient",
       [] { backward_with({}); },
       {"[own] the rule of argument 0 must return a gradient, got none; detach() the argument"}},
      {"an overwritten tensor",
       [] {
         Tensor x = leaf({3});
         Tape tape;
         line = __LINE__ + 1;
         const Tensor y = x * x;
         assign(x, zeros({3}));
         tape.backward(sum(y));
       },
       {"[mul] saved tensors must stay unchanged until backward", "use a copy"}},
      {"backward after the tape",
       [] {
         Tensor y;
         {
           Tape tape;
           y = sum(leaf({3}));
         }
         Tape tape;
         tape.backward(y);
       },
       {"[backward] y must be on this tape", "compute it again on this tape"}},
  });
}

TEST_CASE("gradcheck's messages and hints say what to do") {
  const auto report = [](const std::function<Tensor(const Tensor&)>& f) {
    return gradcheck(f, random_normal({3, 3}, 1, DType::f64)).report();
  };
  check({{"gradcheck in f32",
          [] { gradcheck([](const Tensor& x) { return x * 2; }, ones({3})); },
          {"[gradcheck] argument 0 of shape (3) must be f64, got f32; convert it with .to(DType::f64)"}}});
  CHECK_THAT(report([](const Tensor& x) { return x.detach() * 2; }),
             ContainsSubstring("look at the argument: the rule gives zero everywhere; is it left out"));
  CHECK_THAT(report([](const Tensor& x) {
               return op<"turned">({}, x.detach(), wrt(x, [](const Tensor& dy) { return transpose(dy); }));
             }),
             ContainsSubstring("look at the axes: the gradient fits if its last two axes are transposed"));
}

TEST_CASE("mistakes in a score, a normaliser or a mask name the shapes") {
  const auto compare = [](const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); };
  check({
      {"scores without the keys' axis",
       [&] { attended([&](const Tensor& q, const Tensor& k) { return sum(compare(q, k), {-1}); }); },
       {"[attention] a score must return one number for each of 3 queries and 3 keys, got (1,3); fix FunctionScore"}},
      {"weights of one key less",
       [&] {
         attended(compare, {.normalise = [](const Tensor& s, const Mask&) { return slice(s, -1, 0, 2); }});
       },
       {"[normalise] a normaliser must keep the shape, got weights (1,3,2) from scores (1,3,3)"}},
      {"a mask of another length",
       [] { read(one_layer(), Mask::causal(3, 3)); },
       {"[pairs] mask must broadcast to (…, 2 queries, 2 keys), got (3,3)"}},
      {"a trained tensor without learned()",
       [] { bias_of(leaf({3}, "bias")); },
       {"[score_mod] constant tensor (3) \"bias\" must not require a gradient; wrap it in learned() to train it"}},
      {"a table that is too short",
       [&] {
         attended(scaled_dot(),
                  {.score_mod = {{}, [](const auto&, Size, Size) { return bias_of(ones({2})); }}});
       },
       {"index 2 is outside axis 0 of a table (2), for query 0 and key 2", "clamp it, or mask the pair"}},
      {"numbers of each token without a layer that computes them",
       [&] {
         attended(scaled_dot(), {.score_mod = {{},
                                               [](const auto& p, Size, Size) { return bias_of(p[0]); },
                                               [](const auto&, const Tensor& x) { return x; }}});
       },
       {"data needs the layer's input; use it in MultiHeadAttention or TransformerBlock"}},
  });
}

TEST_CASE("mistakes in a self-attention and its options name the layer") {
  check({
      {"a result of another width",
       [] { read(with_own(Fault::width)); },
       {"Faulty \"stack.blocks.0.self\" must return the shape of its input, got (1,2,16) for (1,2,8); fix its result"}},
      {"a cache that is forgotten",
       [] { read_cached(with_own(Fault::forgets)); },
       {"Faulty \"stack.blocks.0.self\" must add its 1 tokens to the cache, got 0 tokens in it instead of 1; call "
        "cache.append() or cache.set_state() in next()"}},
      {"a cache in training",
       [] {
         const Tape tape;
         read_cached(with_own(Fault::none));
       },
       {"[cache] a cache must be used without a tape; end the tape's scope first"}},
      {"an option of the layer that is replaced",
       [] {
         TransformerOptions options = with_own(Fault::none);
         options.block.qk_norm = true;
         read(options);
       },
       {"[block \"stack.blocks.0\"] qk_norm must not be set together with BlockOptions::attention",
        "compute qk_norm"}},
      {"heads that do not divide the width",
       [] {
         TransformerOptions options = one_layer();
         options.block.heads = 3;
         read(options);
       },
       {"heads (3) must divide width (8); choose a divisor or set head_width"}},
      {"an id outside the vocabulary",
       [] {
         LanguageModel model(one_layer());
         model.initialise(1);
         line = __LINE__ + 1;
         model(Indices({1, 7}, {1, 2}));
       },
       {"id 7", "5"}},
      {"a word outside the vocabulary, with a cache",
       [] {
         LanguageModel model(one_layer());
         model.initialise(1);
         StackCache cache = model.cache(4);
         line = __LINE__ + 1;
         model(Indices({7}, {1, 1}), cache);
       },
       {"id 7", "5"}},
  });
}

TEST_CASE("mistakes with modules, training and checkpoints name the parameters") {
  struct WithoutParent : Module {
    Linear first{{*this, "first"}, 2, 2}, second{2, 2};
  };
  struct NoneWithParent : SelfAttention {
    explicit NoneWithParent(Parent parent) : SelfAttention(std::move(parent)) {}
    Tensor operator()(const Tensor& x, const VisiblePairs&) const override { return only(x); }
    Linear only{8, 8};
  };
  struct Net : Module {
    Linear first{{*this, "first"}, 2, 2}, second{{*this, "second"}, 2, 2};
  };
  Net net;
  net.initialise(1);
  Adam adam(net.parameters());
  check({
      {"a layer without a Parent",
       [] { WithoutParent().initialise(1); },
       {"a Linear is a member of the", "make it with {*this, \"name\"} as its first argument"}},
      {"an attention of which no layer has a Parent",
       [] {
         TransformerBlock block({.width = 8, .attention = self_attention<NoneWithParent>()},
                                {.causal = true});
         block.initialise(1);
       },
       {"a Linear is a member of the", "NoneWithParent \"self\" but was made without a Parent"}},
      {"a layer in a list of which no layer has a Parent",
       [] {
         List<NoneWithParent> layers{Parent{}, 2};
         layers.initialise(1);
       },
       {"NoneWithParent \"0\" but was made without a Parent"}},
      {"a layer that is copied",
       [&] { const Linear copy = net.first; },
       {"a module Linear \"first\" cannot be copied: pass it by reference, keep several in a List"}},
      {"a model without values",
       [] {
         const Net fresh;
         fresh.first(ones({1, 2}));
       },
       {"\"first.weight\" has no values yet: initialise the model, or load its weights"}},
      {"a model without values, with input of another dtype",
       [] {
         TransformerBlock block({.width = 2, .heads = 1}, {.causal = true});
         block(ones({1, 3, 2}, DType::f64));
       },
       {"\"self_norm.weight\" has no values yet: initialise the model, or load its weights; for inputs of f64, write "
        "initialise(seed, DType::f64)"}},
      {"a layer that the loss does not use",
       [&] {
         Tape tape;
         tape.backward(sum(net.first(ones({1, 2}))));
         adam.step();
       },
       {"[step] every weight must have a gradient, got none for \"second.weight\", \"second.bias\"",
        "freeze them"}},
      {"weights of another shape",
       [&] {
         State state = net.state();
         state.at("first.weight") = ones({3, 2});
         state.erase("second.bias");
         net.load_state(state);
       },
       {"the weights do not fit the model", "first.weight", "(3,2)", "second.bias"}},
      {"a part that does not exist",
       [&] { net.freeze("third"); },
       {"part must name a parameter or a module, got \"third\"; the parameters are: first.weight, first.bias"}},
      {"a checkpoint without the optimiser",
       [&] {
         TrainingState saved;
         saved.sections = {{"model", net.state()}};
         saved.restore({{"model", net.state()}, {"optimiser", adam.state()}});
       },
       {"does not fit", "optimiser/first.weight/m"}},
  });
}
