#include "lessons/38_chat/chat_model.hpp"

#include <algorithm>
#include <cmath>

#include "core/ops/order.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/error.hpp"
#include "core/tensor/random.hpp"
#include "lessons/kit/program/project_file.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson38 {

ChatModel read_chat_model(const fs::path& path, QuantisedArithmetic arithmetic, Size context) {
  return chat_model_of(read_gguf(path), arithmetic, context);
}

ChatModel chat_model_of(Gguf file, QuantisedArithmetic arithmetic, Size context) {
  Llama llama(file, {.arithmetic = arithmetic});
  ByteLevelBpe tokenizer = tokenizer_of(file);
  const Size longest = llama.sizes().context;
  return {std::move(file), std::move(llama), std::move(tokenizer),
          context == 0 ? longest : std::min(context, longest)};
}

fs::path tiny_model() { return kit::project_file("lessons/38_chat/tiny/tiny.gguf"); }

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

AnswerWriter::AnswerWriter(Session& session, Ids prompt, const ChatTemplate& format, Sampler& sampler,
                           Size most)
    : session_(&session),
      sampler_(&sampler),
      unread_(std::move(prompt)),
      most_(most),
      end_(session.model().tokenizer.id(format.end())) {}

bool AnswerWriter::ends(std::int64_t id) const {
  return id == end_ || id == session_->model().file.get<std::int64_t>("tokenizer.ggml.eos_token_id", -1);
}

bool AnswerWriter::next(const OnToken& on_token) {
  const std::int64_t id = sampler_->draw(session_->read(unread_));
  unread_ = {id};
  answer_.ids.push_back(id);
  answer_.ended = ends(id);
  if (answer_.ended || !on_token(id) || static_cast<Size>(answer_.ids.size()) >= most_) return false;
  answer_.full = session_->room() < 2;
  return !answer_.full;
}

Answer write_answer(Session& session, const Ids& prompt, const ChatTemplate& format, Sampler& sampler,
                    Size most, const OnToken& on_token) {
  AnswerWriter writer(session, prompt, format, sampler, most);
  while (writer.next(on_token)) {
  }
  return writer.answer();
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
