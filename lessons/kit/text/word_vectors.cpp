// Pretrained word vectors in the text format of GloVe or word2vec.
#include "lessons/kit/text/word_vectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/tensor/create.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/text/text.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Header line of word2vec's format.
struct Header {
  Size words = 0, width = 0;
};

class VectorReader {
 public:
  VectorReader(std::string origin, const Vocabulary& wanted) : origin_(std::move(origin)), wanted_(wanted) {}

  void line(std::string_view text, std::size_t number) {
    number_ = number;
    const Words fields = split_words(text);
    if (number == 1 && read_header(fields)) return;
    if (empty_ > 0) {  // the last line may be empty
      number_ = empty_;
      refuse("the line is empty; each line must be a word and its numbers");
    }
    if (fields.empty()) {
      empty_ = number;
      return;
    }
    if (fields.size() < 2) refuse(fmt::format("'{}' must have numbers after it", printable(fields[0])));
    const auto numbers = static_cast<Size>(fields.size()) - 1;
    if (vectors_.width == 0) vectors_.width = numbers;
    ++vectors_.in_file;
    const Size too_many = numbers - vectors_.width;
    if (too_many < 0)
      refuse(fmt::format("'{1}' must have {3} numbers, like {2}, got {0}", numbers, printable(fields[0]),
                         header_ ? "the header" : "the first word", vectors_.width));
    std::vector<float> vector;
    for (std::size_t i = 1 + static_cast<std::size_t>(too_many); i < fields.size(); ++i)
      vector.push_back(finite(fields[i]));
    if (too_many > 0) return;  // a word with spaces, such as "New York", is in no vocabulary
    if (wanted_.contains(fields[0])) vectors_.of.emplace(wanted_.id(fields[0]), std::move(vector));
  }

  WordVectors finish() {
    if (vectors_.in_file == 0 && !header_) throw UsageError(fmt::format("'{}' is empty", origin_));
    if (header_ && header_->words != vectors_.in_file)
      throw UsageError(fmt::format("{}:1: the header has {} words, but the file has {}; is it complete?",
                                   origin_, header_->words, vectors_.in_file));
    return std::move(vectors_);
  }

 private:
  bool read_header(const Words& fields) {
    if (fields.size() != 2) return false;
    const auto words = number_in<Size>(fields[0]), width = number_in<Size>(fields[1]);
    if (!words || !width) return false;
    if (*words < 1 || *width < 1) refuse("the header must have at least 1 word and 1 number per word");
    header_ = Header{*words, *width};
    vectors_.width = *width;
    return true;
  }

  float finite(const std::string& text) const {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument)
      refuse(fmt::format("'{}' is not a number", printable(text)));
    if (error != std::errc() || !(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())))
      refuse(fmt::format("'{}' is not a finite number that fits 32 bits", printable(text)));
    return static_cast<float>(value);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("{}:{}: {}", origin_, number_, why));
  }

  std::string origin_;
  const Vocabulary& wanted_;
  std::size_t number_ = 0;
  std::size_t empty_ = 0;  // number of an empty line; 0: none so far
  std::optional<Header> header_;
  WordVectors vectors_;
};

}  // namespace

WordVectors read_word_vectors(const std::filesystem::path& path, const Vocabulary& wanted) {
  VectorReader reader(path.string(), wanted);
  for_each_line(path, [&](std::string_view line, std::size_t number) { reader.line(line, number); });
  return reader.finish();
}

void put_word_vectors(const WordVectors& vectors, Tensor table) {
  if (table.rank() != 2 || table.size(1) != vectors.width)
    throw std::invalid_argument(
        fmt::format("the table must have shape (words, {}), got {}", vectors.width, describe(table)));
  std::vector<double> values = table.to_vector();
  for (const auto& [id, vector] : vectors.of)
    std::copy(vector.begin(), vector.end(), values.begin() + id * vectors.width);
  assign(table, tensor(values, table.shape(), table.dtype()));
}

}  // namespace tapestry::kit
