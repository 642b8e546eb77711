// Word vectors as text: both forms, and every kind of damage.
#include "lessons/kit/text/word_vectors.hpp"

#include "core/tensor/create.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Vector = std::vector<float>;

const Vocabulary kWanted = Vocabulary::of({"le", "chat", "dort", "été"});

WordVectors read(const std::string& content) {
  const Scratch scratch;
  return read_word_vectors(scratch.write("vectors.txt", content), kWanted);
}

}  // namespace

TEST_CASE("word vectors of GloVe's form are read", "[kit]") {
  const WordVectors vectors = read("chat 1 -2.5 3e-2\nother 7 8 9\nété 0 0.125 .5\n");
  CHECK(vectors.width == 3);
  CHECK(vectors.in_file == 3);
  REQUIRE(vectors.of.size() == 2);
  CHECK(vectors.of.at(kWanted.id("chat")) == Vector{1, -2.5F, 3e-2F});
  CHECK(vectors.of.at(kWanted.id("été")) == Vector{0, 0.125F, 0.5F});
}

TEST_CASE("word vectors of word2vec's form are read", "[kit]") {
  const WordVectors vectors =
      read("3 2\n</s> 0 0 \r\nle 1 2 \r\nchat 3 4 \r\n");  // it ends lines with a space
  CHECK(vectors.width == 2);
  CHECK(vectors.in_file == 3);
  CHECK(vectors.of.size() == 2);
  CHECK(vectors.of.at(kWanted.id("chat")) == Vector{3, 4});
}

TEST_CASE("a word that is a number is no header", "[kit]") {
  const WordVectors vectors = read("2016 1.5\nle 2\n");
  CHECK(vectors.width == 1);
  CHECK(vectors.in_file == 2);
  CHECK(vectors.of.at(kWanted.id("le")) == Vector{2});
}

TEST_CASE("of a word that comes twice the first counts", "[kit]") {
  CHECK(read("le 1 2\nchat 0 0\nle 3 4\n").of.at(kWanted.id("le")) == Vector{1, 2});
}

TEST_CASE("special words of a file are nobody's", "[kit]") {
  CHECK(read("<unk> 1 2\n<pad> 1 2\n<end> 1 2\nle 1 2\n").of.size() == 1);
}

TEST_CASE("a word with spaces in it is passed over", "[kit]") {
  const WordVectors vectors = read("le 1 2\nNew York 3 4\n. . . 5 6\nchat 7 8\n");
  CHECK(vectors.in_file == 4);
  CHECK(vectors.of.size() == 2);
}

TEST_CASE("words with spaces, numbers among them, are passed over; the last line may be empty", "[kit]") {
  const Scratch scratch;
  const auto read = [&](const std::string& content) {
    return read_word_vectors(scratch.write("vectors.txt", content), kWanted);
  };
  for (const char* word : {"New York", "1 000", "le 7", "le 1 2 3"}) {
    const WordVectors vectors = read(std::string("le 1 2\n") + word + " 5 6\nchat 3 4\n\n");
    CHECK(vectors.in_file == 3);
    CHECK(vectors.of.size() == 2);
    CHECK(vectors.of.at(kWanted.id("le")) == std::vector<float>{1, 2});
    CHECK(vectors.of.at(kWanted.id("chat")) == std::vector<float>{3, 4});
  }
  CHECK(read("2 2\nle 7 1 2\nchat 3 4\n").of.size() == 1);  // by the first line's width
  CHECK_THAT(usage_error([&] { read("le 1 2\nNew York 3 x\n"); }),
             Catch::Matchers::Contains("'x' is not a number"));
  CHECK_THAT(usage_error([&] { read("le 1 2\n\n\n"); }), Catch::Matchers::Contains(":2: the line is empty"));
}

TEST_CASE("damaged word vectors are refused with path and line", "[kit]") {
  const Scratch scratch;
  const auto error = [&](const std::string& content) {
    const auto path = scratch.write("vectors.txt", content);
    const std::string message = usage_error([&] { read_word_vectors(path, kWanted); });
    CHECK(message.find('\n') == std::string::npos);
    const std::string name = path.string();
    return message.find(name) == std::string::npos ? message
                                                   : message.substr(message.find(name) + name.size());
  };
  CHECK_THAT(error(""), StartsWith("' is empty"));
  CHECK_THAT(error("le 1 2\nchat 3\n"),
             StartsWith(":2: 'chat' must have 2 numbers, like the first word, got 1"));
  CHECK_THAT(error("2 3\nle 1 2 3\nchat 1 2\n"),
             StartsWith(":3: 'chat' must have 3 numbers, like the header, got 2"));
  CHECK_THAT(error("le 1 2\nchat\n"), StartsWith(":2: 'chat' must have numbers after it"));
  CHECK_THAT(error("le\n"), StartsWith(":1: 'le' must have numbers after it"));
  CHECK_THAT(error("le 1 2\n\nchat 3 4\n"), StartsWith(":2: the line is empty"));
  CHECK_THAT(error("le 1 2\nchat 3 x\n"), StartsWith(":2: 'x' is not a number"));
  CHECK_THAT(error("le 1 2\nchat 3 4,5\n"), StartsWith(":2: '4,5' is not a number"));
  CHECK_THAT(error("le 1 2\nother nan 2\n"), StartsWith(":2: 'nan' is not a finite number"));
  CHECK_THAT(error("le 1 2\nchat 1 -inf\n"), StartsWith(":2: '-inf' is not a finite number"));
  CHECK_THAT(error("le 1 2\nchat 1 1e39\n"), StartsWith(":2: '1e39' is not a finite number that fits"));
  CHECK_THAT(error("le 1 2\nchat 1 1e999\n"), StartsWith(":2: '1e999' is not a finite number that fits"));
  CHECK_THAT(error("3 2\nle 1 2\nchat 3 4\n"), StartsWith(":1: the header has 3 words, but the file has 2"));
  CHECK_THAT(error("1 2\nle 1 2\nchat 3 4\n"), StartsWith(":1: the header has 1 words, but the file has 2"));
  CHECK_THAT(error("5 2\n"), StartsWith(":1: the header has 5 words, but the file has 0"));
  CHECK_THAT(error("0 2\n"), StartsWith(":1: the header must have at least 1 word"));
  CHECK_THAT(error("3 0\n"), StartsWith(":1: the header must have at least 1 word"));
  CHECK_THAT(error("le 1 2\ncha\xFF 3 4\n"), StartsWith(":2: invalid UTF-8 (byte 0xff"));
  CHECK_THAT(error(std::string("le 1 2\nch\0t 3 4\n", 16)), StartsWith(":2: a NUL byte"));
  CHECK_THAT(error("le 1 2\nchat " + std::string(kMostBytesInLine, '1')), StartsWith(":2: the line has"));
  CHECK_THAT(usage_error([&] { read_word_vectors(scratch.path("none"), kWanted); }),
             ContainsSubstring("none': no such file"));
  CHECK_THAT(usage_error([&] { read_word_vectors(scratch.folder(), kWanted); }),
             ContainsSubstring("it is a folder"));
}

TEST_CASE("word vectors go into an embedding", "[kit]") {
  const WordVectors vectors = read("chat 1 2\n");
  Tensor table = full({kWanted.size(), 2}, 9);
  put_word_vectors(vectors, table);
  for (std::int64_t id = 0; id < kWanted.size(); ++id) {
    const bool chat = id == kWanted.id("chat");
    CHECK(table.at({id, 0}) == (chat ? 1 : 9));
    CHECK(table.at({id, 1}) == (chat ? 2 : 9));
  }
  CHECK_THROWS_AS(put_word_vectors(vectors, full({kWanted.size(), 3}, 9)), std::invalid_argument);
}

}  // namespace tapestry::kit
