// Loading of recurrent and transformer translators from checkpoints, and translation of one sentence (--translate).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::kit {

/// Translator from a checkpoint, in eval mode.
struct SavedTranslator {
  Lexicon source, target;
  std::unique_ptr<SequenceModel> model;
  Size step = 0;  // completed training steps
};
/// Loads a recurrent or transformer translator, as the checkpoint's texts say. Throws UsageError if there is no
/// checkpoint, if it is damaged, or if it holds another kind of model.
SavedTranslator load_translator(const std::filesystem::path& checkpoint);

/// Translation of a sentence, with the translator for further inspection.
struct TranslatedSentence {
  SavedTranslator translator;
  Translation written;
};
/// Translates a sentence with a saved translator. Words that the lexicon lacks are changed to lower case and separated
/// from their punctuation if that helps; the remaining unknown words are printed. Throws UsageError for a sentence
/// without words, and like load_translator().
TranslatedSentence translate_sentence(const std::filesystem::path& checkpoint, const std::string& sentence,
                                      const TranslateOptions& how);

/// Returns the folder whose checkpoint --translate uses: Multi30k's if it was requested (by --data or --direction) or
/// has a checkpoint, otherwise the grammar's.
std::filesystem::path folder_to_translate_with(const std::filesystem::path& multi30k,
                                               const std::filesystem::path& grammar, bool asked_for_multi30k);

/// Returns the path of the checkpoint in a translator's folder.
std::filesystem::path checkpoint_in(const std::filesystem::path& folder);

}  // namespace tapestry::kit
