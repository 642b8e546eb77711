// A file, or standard input, translated line by line with a saved translator (--translate-file).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "lessons/kit/program/options.hpp"
#include "lessons/kit/translation/saved.hpp"

namespace tapestry::kit {

/// What is translated, and where to.
struct FileTranslation {
  /// "-" is standard input.
  std::filesystem::path file;
  /// Empty: standard output. A regular file appears when all is written.
  std::filesystem::path output = {};
  /// A translation for each line, for BLEU; empty: none.
  std::filesystem::path references = {};
};

/// Adds --translate-file, --output and --references to the program. When the first is given, nothing but
/// translations goes to standard output.
void offer(Lesson& program, FileTranslation& what);

/// Changes what the model wrote before it is judged and written out (unknown words are copied).
using Afterwards = std::function<std::vector<Translation>(std::vector<Translation>)>;

/// One line out for each line in, in the order of the input: words with a space between them, and nothing for
/// a line without words. Lines are taken as in training, as words apart by spaces, in groups of a thousand,
/// or of as many as standard input has to give; each group is written as soon as it is translated. What lines
/// were too long, and BLEU where there are references, is said on standard error. Throws UsageError for a bad
/// line, or another number of references: before anything is written, but on standard input, where the lines
/// before it are translated first; and if the result cannot be written.
void translate_file(SequenceModel& model, const Lexicon& source, const Lexicon& target,
                    const FileTranslation& what, const TranslateOptions& how,
                    const Afterwards& afterwards = {});
/// The same with the translator of a checkpoint; throws as load_translator() does, too.
void translate_file(const std::filesystem::path& checkpoint, const FileTranslation& what,
                    const TranslateOptions& how, const Afterwards& afterwards = {});

}  // namespace tapestry::kit
