// Translators back from their checkpoints, of either kind, and one sentence of somebody's own (--translate).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::kit {

/// A translator from a checkpoint, ready for use.
struct SavedTranslator {
  Lexicon source, target;
  std::unique_ptr<SequenceModel> model;
  Size step = 0;  // of training
};
/// Recurrent or transformer, as the checkpoint's texts say. Throws UsageError if there is none, for a damaged
/// file, and for another model's.
SavedTranslator load_translator(const std::filesystem::path& checkpoint);

/// A sentence, what a saved translator made of it, and the translator, to look into.
struct TranslatedSentence {
  SavedTranslator translator;
  Translation written;
};
/// Takes words in lower case, and apart from punctuation, where the dictionary has them only so; says which are in no
/// dictionary. Throws UsageError for a sentence without words, and as above.
TranslatedSentence translate_sentence(const std::filesystem::path& checkpoint, const std::string& sentence,
                                      const TranslateOptions& how);

/// The folder with the checkpoint that --translate means: Multi30k's, if it is asked for (by --data or
/// --direction) or one is there, otherwise the grammar's.
std::filesystem::path folder_to_translate_with(const std::filesystem::path& multi30k,
                                               const std::filesystem::path& grammar, bool asked_for_multi30k);

/// Where each translator in its folder keeps its checkpoint.
std::filesystem::path checkpoint_in(const std::filesystem::path& folder);

}  // namespace tapestry::kit
