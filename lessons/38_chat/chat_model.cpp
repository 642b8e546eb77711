#include "lessons/38_chat/chat_model.hpp"

#include <algorithm>
#include <cmath>

#include "core/ops/order.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/error.hpp"
#include "core/tensor/random.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson38 {

ChatModel read_chat_model(const fs::path& path, QuantisedArithmetic arithmetic, Size context) {
  Gguf file = read_gguf(path);
  Llama llama(file, {.arithmetic = arithmetic});
  ByteLevelBpe tokenizer = tokenizer_of(file);
  const Size longest = llama.sizes().context;
  return {std::move(file), std::move(llama), std::move(tokenizer),
          context == 0 ? longest : std::min(context, longest)};
}

fs::path tiny_model() {
  const fs::path file = "lessons/38_chat/tiny/tiny.gguf";
  const fs::path in_project = kit::project_folder() / file;
  return fs::exists(in_project) ? in_project : fs::path(__FILE__).parent_path() / "tiny/tiny.gguf";
}

Session::Session(const ChatModel& model) : model_(&model), cache_(model.llama.cache()) {}

void Session::reset() { cache_.truncate(0); }

void Session::check_room(const Ids& ids) const {
  if (static_cast<Size>(ids.size()) > room())
    fail("[chat] the text must fit into the context of {} tokens, got {} more after {}; shorten it",
         model_->context, ids.size(), length());
}

Tensor Session::read(const Ids& ids, LlamaTrace* trace) {
  check_room(ids);
  return select(model_->llama(ids, cache_, true, trace), 0, 0);
}

Tensor Session::read_all(const Ids& ids) {
  check_room(ids);
  return model_->llama(ids, cache_);
}

Sampler::Sampler(SamplingOptions options) : options_(std::move(options)) { detail::check(options_, "chat"); }

std::int64_t Sampler::draw(const Tensor& logits) {
  if (std::isnan(sum(logits).item()))
    fail("[chat] the logits must be numbers, got NaN; check the file for damaged weights");
  if (options_.temperature == 0) return argmax(logits, 0).to_vector()[0];
  const Size all = logits.size(0);
  const Ordered top = topk(logits, options_.top_k > 0 ? std::min(options_.top_k, all) : all, 0);
  const detail::Choices from = detail::choices(log_softmax(top.values, 0).to_vector(), options_);
  double left = Stream(options_.seed, hash_of("chat")).uniform(draws_++) * from.total;
  std::size_t drawn = 0;
  while (drawn + 1 < from.ids.size() && left >= from.weights[drawn]) left -= from.weights[drawn++];
  return top.indices.to_vector()[from.ids[drawn]];
}

Answer write_answer(Session& session, const Ids& prompt, const ChatTemplate& format, Sampler& sampler,
                    Size most, const std::function<bool(std::int64_t id)>& on_token) {
  const ChatModel& model = session.model();
  const auto end = model.tokenizer.id(format.end());
  const std::int64_t other_end = model.file.get<std::int64_t>("tokenizer.ggml.eos_token_id", -1);
  Answer answer;
  for (Tensor logits = session.read(prompt);; logits = session.read({answer.ids.back()})) {
    const std::int64_t id = sampler.draw(logits);
    answer.ids.push_back(id);
    answer.ended = id == end || id == other_end;
    if (answer.ended || !on_token(id) || static_cast<Size>(answer.ids.size()) >= most) break;
    answer.full = session.room() < 2;
    if (answer.full) break;
  }
  return answer;
}

std::string safe_text(std::string_view text) {
  std::string safe;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", from), text.size());
    safe += kit::printable(text.substr(from, end - from));
    if (end < text.size()) safe += text[end];
    from = end + 1;
  }
  return safe;
}

}  // namespace tapestry::lesson38
