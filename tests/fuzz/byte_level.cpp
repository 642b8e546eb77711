// libFuzzer: any bytes as a text, as tokens and merges, as a stream and as a chat template: ids give the text back, a
// message has no special tokens, and what is refused is refused with an Error of one line.
#include "nn/text/byte_level.hpp"

#include "core/io/text.hpp"
#include "nn/text/byte_alphabet.hpp"
#include "nn/text/chat.hpp"
#include "nn/text/utf8_stream.hpp"
#include "tests/fuzz/foreign.hpp"

namespace {

using namespace tapestry;
using fuzz::must;

constexpr const char* kPreTokenizers[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"};

ByteLevelVocabulary all_bytes() {
  ByteLevelVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.tokens.push_back(text_of_bytes(std::string(1, static_cast<char>(byte))));
  return vocabulary;
}

const ByteLevelBpe& tokenizer(std::size_t which) {
  static const std::vector<ByteLevelBpe> all = [] {
    std::vector<ByteLevelBpe> made;
    for (const char* name : kPreTokenizers) {
      ByteLevelVocabulary vocabulary = all_bytes();
      for (const char* token : {"aa", "ĠĠ", "aaaa", "Ġa", "ĊĊ", "ab", "aab"})
        vocabulary.tokens.emplace_back(token);
      vocabulary.merges = {"a a", "Ġ Ġ", "Ġ a", "aa aa", "a b", "a ab", "aa b", "Ċ Ċ"};
      vocabulary.types.assign(vocabulary.tokens.size(), 1);
      for (const char* token : {"<|im_start|>", "<|im_end|>", "<s>", "</s>", "<|eot_id|>",
                                "<|start_header_id|>", "<|end_header_id|>"}) {
        vocabulary.tokens.emplace_back(token);
        vocabulary.types.push_back(3);
      }
      vocabulary.pre_tokenizer = name;
      made.emplace_back(vocabulary);
    }
    return made;
  }();
  return all[which % all.size()];
}

void check_text(std::string_view text, std::size_t which) {
  const ByteLevelBpe& bpe = tokenizer(which);
  must(bpe.decode(bpe.encode(text)) == text);
  const Ids ids = bpe.encode(text, SpecialTokens::none);
  must(bpe.decode(ids) == text);
  for (const std::int64_t id : ids) must(bpe.type(id) == TokenType::normal);
}

/// Lines with a space are merges, others tokens.
void check_vocabulary(std::string_view text) {
  ByteLevelVocabulary vocabulary = all_bytes();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    (line.find(' ') == line.npos ? vocabulary.tokens : vocabulary.merges).emplace_back(line);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  const ByteLevelBpe bpe(vocabulary);
  for (const std::string& token : vocabulary.tokens) must(bpe.decode(bpe.encode(token)) == token);
}

void check_stream(std::string_view bytes, std::size_t cut) {
  Utf8Stream whole, parts;
  const std::string expected = whole.push(bytes) + whole.finish();
  const std::size_t at = bytes.empty() ? 0 : cut % bytes.size();
  std::string text = parts.push(bytes.substr(0, at));
  must(is_utf8(text));
  text += parts.push(bytes.substr(at));
  must(is_utf8(text));
  must(text + parts.finish() == expected);
  must(!is_utf8(bytes) || expected == bytes);
}

void check_chat(std::string_view text, std::size_t which) {
  constexpr const char* templates[] = {"<|im_start|> <|im_end|>", "<|start_header_id|> <|eot_id|> bos_token",
                                       "<|user|> eos_token <|assistant|>"};
  const ByteLevelBpe& bpe = tokenizer(which);
  const auto specials = [&](const ChatTemplate& chat, std::string_view content) {
    Ids ids;
    for (const std::int64_t id : chat_ids(bpe, chat.render({{"user", std::string(content)}})))
      if (bpe.type(id) != TokenType::normal) ids.push_back(id);
    return ids;
  };
  const ChatTemplate known = ChatTemplate::recognise(templates[which % 3], "<s>", "</s>");
  must(specials(known, text) == specials(known, "a"));
  const ChatTemplate any = ChatTemplate::recognise(text, "<s>", "</s>");
  must(specials(any, text) == specials(any, ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t which = size / 4;
  switch (size % 4) {  // one way an input: each that is refused costs an exception
    case 0:
      check_text(text, which);
      break;
    case 1:
      fuzz::or_refused([&] { check_vocabulary(text); });
      break;
    case 2:
      check_stream(text, which);
      break;
    default:
      fuzz::or_refused([&] { check_chat(text, which); });
  }
  return 0;
}
