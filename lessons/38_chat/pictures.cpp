// The answer token by token, and the pictures of a model's inside.
#include <fmt/format.h>

#include <algorithm>

#include "core/core.hpp"
#include "lessons/38_chat/measure.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson38 {

WrittenAnswer show_answer(const ChatModel& model, const ChatSettings& settings, const kit::Options& options,
                          kit::Report& report) {
  constexpr Size kShown = 3;
  const auto end = model.tokenizer.id(chat_template_of(model.file).end());
  const Size most = std::min<Size>(settings.most, options.smoke ? 4 : 16);
  WrittenAnswer answer;
  Session session(model);
  Ids ids = conversation_ids(model), next = ids;
  std::vector<Tensor> from_cache;
  while (static_cast<Size>(answer.ids.size()) < most && session.room() > static_cast<Size>(next.size())) {
    answer.traces.emplace_back();
    from_cache.push_back(session.read(next, &answer.traces.back()));
    const Ordered top = topk(softmax(from_cache.back(), 0), kShown);
    std::string line;
    for (Size i = 0; i < kShown; ++i)
      line += fmt::format(
          "  {}{:5.1f} %",
          kit::pad_right(
              kit::cut_to(token_label(model, top.indices.to_vector()[static_cast<std::size_t>(i)]), 16), 16),
          100 * top.values.at({i}));
    fmt::print("{}\n", line);
    next = {top.indices.to_vector()[0]};
    answer.ids.push_back(next[0]);
    if (next[0] == end) break;
    ids.push_back(next[0]);
  }
  if (answer.ids.back() != end) ids.pop_back();  // it was chosen and not read
  const Tensor at_once = Session(model).read_all(ids);
  const Size steps = static_cast<Size>(from_cache.size());
  const Tensor those = slice(at_once, 0, at_once.size(0) - steps, at_once.size(0));
  report.at_most("logits token by token: largest difference from one pass ÷ largest logit",
                 kit::relative_difference(stack(from_cache, 0), those), 1e-4);
  return answer;
}

void show_inside(const ChatModel& model, const WrittenAnswer& answer, const kit::Options& options) {
  const Size blocks = model.llama.sizes().blocks, heads = model.llama.sizes().heads;
  const std::size_t tokens = std::min<std::size_t>(answer.ids.size(), 12);
  kit::Heatmap lens{.title = "Logit lens: probability of the final choice after each block"};
  kit::Heatmap first{.title = "Weight of each head on the first token"};
  for (std::size_t i = 0; i < tokens; ++i)
    lens.columns.push_back(kit::cut_to(token_label(model, answer.ids[i]), 10));
  for (Size head = 0; head < heads; ++head) first.columns.push_back(fmt::format("{}", head));
  lens.column_axis = "tokens of the answer", first.column_axis = "heads";
  lens.row_axis = first.row_axis = "blocks";
  fmt::print("  Most likely first token of the answer after each block:\n");
  for (Size block = 0; block < blocks; ++block) {
    const auto at = static_cast<std::size_t>(block);
    for (kit::Heatmap* map : {&lens, &first}) map->rows.push_back(fmt::format("{}", block));
    for (std::size_t i = 0; i < tokens; ++i) {
      const Tensor p = softmax(model.llama.logits_of(answer.traces[i].states[at]), -1);
      const Tensor shares = reshape(p, {p.size(-1)});
      lens.values.push_back(shares.at({answer.ids[i]}));
      if (i > 0) continue;
      const std::int64_t said = argmax(shares, 0).to_vector()[0];
      fmt::print("    block {:2}  {} {:5.1f} %\n", block,
                 kit::pad_right(kit::cut_to(token_label(model, said), 18), 18), 100 * shares.at({said}));
    }
    const Tensor& weights = answer.traces[tokens - 1].weights[at];  // (heads, keys)
    for (Size head = 0; head < heads; ++head) first.values.push_back(weights.at({head, 0}));
  }
  kit::show(lens, options.out / "lens.svg");
  kit::show(first, options.out / "heads.svg");
}

}  // namespace tapestry::lesson38
