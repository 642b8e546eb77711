// Line-by-line translation of a file or standard input with a saved translator (--translate-file).
#include "lessons/kit/translation/translate_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/text/line_reader.hpp"
#include "lessons/kit/text/line_writer.hpp"
#include "lessons/kit/text/long_lines.hpp"
#include "lessons/kit/translation/bleu.hpp"

namespace tapestry::kit {
namespace {

/// Reads the rest of the input. Returns the total number of lines.
std::size_t skip(LineReader& reader) {
  while (reader.next()) {
  }
  return reader.number();
}

[[noreturn]] void fail_to_pair(const std::string& file, std::size_t lines, const std::string& references,
                               std::size_t translations) {
  throw UsageError(
      fmt::format("'{}' has {} lines and '{}' has {}; BLEU needs one reference per line, in the same order",
                  file, lines, references, translations));
}

/// Checks the input files as far as possible before the translation starts.
void check(const FileTranslation& what) {
  const bool judged = !what.references.empty();
  const std::size_t references = judged ? count_lines(what.references) : 0;
  if (what.file == "-") return;
  const std::size_t lines = count_lines(what.file);
  if (judged && references != lines)
    fail_to_pair(what.file.string(), lines, what.references.string(), references);
}

void say(const std::string& sentence) {
  if (!sentence.empty()) fmt::print(stderr, "{}\n", sentence);
}

}  // namespace

void add_options(Lesson& program, FileTranslation& what) {
  program.add_filter("--translate-file", what.file,
                     "translate this file (-: standard input) with the trained model instead of training: "
                     "one output line per input line, words separated by spaces, as in training; "
                     "an empty line stays empty");
  program.add("--output", what.output, "with --translate-file: output file; default: standard output");
  program.add("--references", what.references,
              "with --translate-file: file with a translation for each line; prints BLEU at the end");
}

void translate_file(SequenceModel& model, const Lexicon& source, const Lexicon& target,
                    const FileTranslation& what, const TranslateOptions& how, const Afterwards& afterwards) {
  if (what.references == "-") throw UsageError("--references must name a file, got '-'");
  check(what);
  LineReader reader(what.file);
  std::optional<LineReader> references;
  if (!what.references.empty()) references.emplace(what.references);
  LineWriter writer(what.output);
  BleuCounter bleu;
  LongLines only_the_first;
  std::size_t cut_off = 0, first_cut_off = 0;
  for (auto lines = reader.group(); !lines.empty(); lines = reader.group()) {
    const std::size_t first = reader.number() - lines.size() + 1;  // line number of lines[0]
    std::vector<Words> sentences;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      sentences.push_back(split_words(lines[i]));
      if (too_long(source, sentences.back())) only_the_first.add(reader.origin(), first + i);
    }
    std::vector<Translation> written = translate(model, source, target, sentences, how);
    if (afterwards) written = afterwards(std::move(written));
    for (std::size_t i = 0; i < written.size(); ++i) {
      writer.line(join_words(written[i].words));
      if (written[i].cut_off && cut_off++ == 0) first_cut_off = first + i;
      if (!references) continue;
      const std::optional<std::string> reference = references->next();
      if (!reference) fail_to_pair(reader.origin(), skip(reader), references->origin(), references->number());
      bleu.add(written[i].words, split_words(*reference));
    }
    writer.flush();
  }
  if (references)
    if (const std::size_t before = references->number(); skip(*references) != before)
      fail_to_pair(reader.origin(), reader.number(), references->origin(), references->number());
  writer.finish();
  say(only_the_first.text(kOnlyTheFirst));
  if (cut_off > 0)
    say(fmt::format("{}:{}{}: the translation was cut off after {} words or pieces", reader.origin(),
                    first_cut_off, cut_off == 1 ? "" : fmt::format(" and {} more", cut_off - 1),
                    how.max_length));
  if (references) say(bleu.score().text());
}

void translate_file(const std::filesystem::path& checkpoint, const FileTranslation& what,
                    const TranslateOptions& how, const Afterwards& afterwards) {
  const SavedTranslator saved = load_translator(checkpoint);
  translate_file(*saved.model, saved.source, saved.target, what, how, afterwards);
}

}  // namespace tapestry::kit
