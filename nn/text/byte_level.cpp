// Byte-level BPE: reading tokens and merges, and applying them.
#include "nn/text/byte_level.hpp"

#include <algorithm>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/byte_alphabet.hpp"

namespace tapestry {
namespace {

std::size_t first_byte(std::string_view text) { return static_cast<unsigned char>(text[0]); }

bool is_control(TokenType type) { return type == TokenType::control || type == TokenType::unknown; }

bool is_special(TokenType type) { return is_control(type) || type == TokenType::user_defined; }

}  // namespace

ByteLevelBpe::ByteLevelBpe(const ByteLevelVocabulary& vocabulary, const ByteLevelOptions& options)
    : options_(options), pre_(pre_tokenizer_of(vocabulary.pre_tokenizer)) {
  const auto& [tokens, merges, types, pre] = vocabulary;
  if (!types.empty() && types.size() != tokens.size())
    fail("[byte level] types must be empty or one for each of {} tokens, got {}", tokens.size(),
         types.size());
  byte_ids_.fill(-1);
  tokens_.reserve(tokens.size());
  ids_.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    add_token(tokens[i], types.empty() ? static_cast<std::int32_t>(TokenType::normal) : types[i]);
  for (std::vector<std::int64_t>& same_start : special_)
    std::stable_sort(same_start.begin(), same_start.end(),
                     [this](std::int64_t a, std::int64_t b) { return token(a).size() > token(b).size(); });
  for (std::size_t i = 0; i < merges.size(); ++i) add_merge(i, merges[i]);
}

void ByteLevelBpe::add_token(const std::string& text, std::int32_t type) {
  if (type < static_cast<std::int32_t>(TokenType::normal) ||
      type > static_cast<std::int32_t>(TokenType::byte))
    fail("[byte level] the type of a token must be 1 to 6, got {} for '{}'", type, printable(text));
  if (text.empty()) fail("[byte level] tokens must not be empty, token {} is", size());
  const auto kind = static_cast<TokenType>(type);
  const std::int64_t id = size();
  if (const auto [found, added] = ids_.emplace(text, id); !added)
    fail("[byte level] tokens must differ, '{}' has the ids {} and {}", printable(text), found->second, id);
  const std::optional<std::string> bytes = is_special(kind) ? std::nullopt : bytes_of_text(text);
  // Reserved tokens such as "[PAD 7]" contain characters outside the alphabet, so their name is used as their bytes.
  tokens_.push_back({text, bytes.value_or(text), kind});
  if (is_special(kind)) special_[first_byte(text)].push_back(id);
  if (!bytes) return;
  longest_ = std::max(longest_, bytes->size());
  if (bytes->size() == 1) byte_ids_[first_byte(*bytes)] = id;
}

void ByteLevelBpe::add_merge(std::size_t number, std::string_view merge) {
  const std::size_t space = merge.find(' ');
  if (space == 0 || space == merge.npos || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != merge.npos)
    fail("[byte level] a merge must be two tokens with a space between them, got '{}' (merge {})",
         printable(merge), number);
  const auto known = [&](const std::string& text, const char* part) {
    const std::optional<std::int64_t> found = id(text);
    if (!found || is_control(type(*found)))
      fail(
          "[byte level] the {} of a merge must be a token that is not a control token, got '{}' in '{}' "
          "(merge {})",
          part, printable(text), printable(merge), number);
    return *found;
  };
  const std::string left_text(merge.substr(0, space)), right_text(merge.substr(space + 1));
  const std::int64_t left = known(left_text, "left part"), right = known(right_text, "right part");
  if (!rules_.add(left, right, known(left_text + right_text, "result")))
    fail("[byte level] merges must differ, '{}' occurs a second time (merge {})", printable(merge), number);
}

std::size_t ByteLevelBpe::index(std::int64_t id) const {
  if (id < 0 || id >= size()) fail("[byte level] ids must be from 0 to {}, got {}", size() - 1, id);
  return static_cast<std::size_t>(id);
}

std::optional<std::int64_t> ByteLevelBpe::id(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

ByteLevelBpe::Found ByteLevelBpe::special_at(std::string_view text, SpecialTokens special) const {
  for (const std::int64_t id : special_[first_byte(text)]) {
    const Token& one = tokens_[static_cast<std::size_t>(id)];
    if (special != SpecialTokens::all && one.type != TokenType::user_defined) continue;
    if (text.substr(0, one.text.size()) == one.text) return {id, one.text.size()};
  }
  return {};
}

Ids ByteLevelBpe::encode(std::string_view text, SpecialTokens special) const {
  Ids ids;
  std::size_t plain = 0;  // start of the text after the last special token
  for (std::size_t at = 0; special != SpecialTokens::none && at < text.size();) {
    const Found found = special_at(text.substr(at), special);
    if (found.length == 0) {
      ++at;
      continue;
    }
    append_plain(ids, text.substr(plain, at - plain));
    ids.push_back(found.id);
    at += found.length;
    plain = at;
  }
  append_plain(ids, text.substr(plain));
  return ids;
}

void ByteLevelBpe::append_plain(Ids& ids, std::string_view text) const {
  for (const std::string_view word : pre_tokens(text, pre_)) append_word(ids, word);
}

void ByteLevelBpe::append_word(Ids& ids, std::string_view word) const {
  // In Llama 3's tokenizer, a word that is a token gets its id even if the merges do not produce it.
  if (pre_ == PreTokenizer::llama3 && word.size() <= longest_) {
    const std::optional<std::int64_t> whole = id(text_of_bytes(word));
    if (whole && !is_special(type(*whole))) return ids.push_back(*whole);
  }
  std::vector<std::int64_t> pieces;
  pieces.reserve(word.size());
  for (const char character : word) {
    const auto byte = static_cast<unsigned char>(character);
    if (has_byte(byte))
      pieces.push_back(byte_ids_[byte]);
    else if (!options_.skip_missing_bytes)
      fail(
          "[byte level] the text must have only bytes that are tokens, got byte 0x{:02x}; set "
          "skip_missing_bytes to leave it out",
          byte);
  }
  merge_pairs(pieces, rules_);
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

std::string ByteLevelBpe::decode(std::span<const std::int64_t> ids, bool skip_special_tokens) const {
  std::string text;
  for (const std::int64_t id : ids)
    if (!skip_special_tokens || !is_control(type(id))) text += bytes(id);
  return text;
}

}  // namespace tapestry
