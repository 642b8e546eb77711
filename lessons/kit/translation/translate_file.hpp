// Line-by-line translation of a file or standard input with a saved translator (--translate-file).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "lessons/kit/program/options.hpp"
#include "lessons/kit/translation/saved.hpp"

namespace tapestry::kit {

/// Files of a translation.
struct FileTranslation {
  /// Input file; "-" is standard input.
  std::filesystem::path file;
  /// Output file; empty: standard output. A regular file appears only when it is complete.
  std::filesystem::path output = {};
  /// File with one reference per line, for BLEU; empty: none.
  std::filesystem::path references = {};
};

/// Adds --translate-file, --output and --references to the program. With --translate-file, standard output holds only
/// the translations.
void add_options(Lesson& program, FileTranslation& what);

/// Post-processing of translations before they are scored and written, such as copying unknown words.
using Afterwards = std::function<std::vector<Translation>(std::vector<Translation>)>;

/// Writes one line per input line, in the same order: words separated by spaces, or nothing for a line without words.
/// Input lines are split at spaces, as in training. They are translated in groups of up to 1000, fewer if standard
/// input has no more yet, and each group is written at once. Lines that are too long or cut off, and BLEU if there are
/// references, are reported on standard error. Throws UsageError for a bad line, for a different number of references,
/// and if writing fails. A file is checked before anything is written; from standard input, the lines before the error
/// are translated first.
void translate_file(SequenceModel& model, const Lexicon& source, const Lexicon& target,
                    const FileTranslation& what, const TranslateOptions& how,
                    const Afterwards& afterwards = {});
/// Translates a file with the translator of a checkpoint. Also throws like load_translator().
void translate_file(const std::filesystem::path& checkpoint, const FileTranslation& what,
                    const TranslateOptions& how, const Afterwards& afterwards = {});

}  // namespace tapestry::kit
