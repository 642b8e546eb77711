#include "nn/check/check_attention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/tensor/error.hpp"
#include "nn/check/checked_block.hpp"

namespace tapestry {

bool AttentionCheckResult::ok() const {
  return std::all_of(parts.begin(), parts.end(), [](const AttentionCheckPart& part) { return part.ok; });
}

std::string AttentionCheckResult::report() const {
  std::string text;
  for (const AttentionCheckPart& part : parts)
    text += fmt::format("{}: {}{}{}\n", part.ok ? "passed" : "FAILED", part.name,
                        part.finding.empty() ? "" : ": ", part.finding);
  return text;
}

AttentionCheckResult check_attention(const BlockOptions& options, const BlockKind& kind,
                                     const AttentionCheckOptions& check_options) {
  if (kind.memory_width > 0)
    fail("[check_attention] BlockKind::memory_width must be 0, since self-attention is checked; got {}",
         kind.memory_width);
  if (check_options.lengths.empty())
    fail("[check_attention] lengths must have at least one length, got none");
  for (const Size length : check_options.lengths)
    if (length < 2) fail("[check_attention] lengths must be at least 2, got {}", length);

  detail::CheckedBlock block(options, kind, check_options);
  AttentionCheckResult result;
  // Runs one part, a function that returns what it found wrong. Returns true if it found nothing.
  const auto part = [&](const char* name, const auto& find) {
    AttentionCheckPart& added = result.parts.emplace_back(AttentionCheckPart{name, true, {}});
    try {
      added.finding = find();
    } catch (const Error& error) {
      added.finding = fmt::format("the layer threw an error: {}", error.what());
    }
    added.ok = added.finding.empty();
    if (const std::string remark = block.take_remark(); added.ok) added.finding = remark;
    return added.ok;
  };
  // A part is skipped if the failure of an earlier one would make it fail, too.
  if (!part("calls", [&] { return block.calls(); })) return result;
  const bool constructed = part("construction", [&] { return block.construction(); });
  if (constructed && part("gradients", [&] { return block.gradients(); }))
    part("second derivatives", [&] { return block.second_derivatives(); });
  const bool rows = part("batch", [&] { return block.batch(); });
  const bool sink = !block.normalises_a_sink() || part("sink", [&] { return block.sink(); });
  const bool cached = kind.causal && part("causal", [&] { return block.causal(); }) && sink &&
                      part("prefix", [&] { return block.prefix(); }) &&
                      part("cache", [&] { return block.cache(); });
  if (cached) part("cache, moved", [&] { return block.moved_cache(); });
  if (check_options.takes_masks) {
    if (rows && part("mask", [&] { return block.mask(); }) && cached)
      part("mask, cached", [&] { return block.cached_mask(); });
    part("fully masked query", [&] { return block.fully_masked_query(); });
  }
  if (constructed) {
    part("f32", [&] { return block.f32(); });
    part("copies", [&] { return block.copies(); });
  }
  return result;
}

}  // namespace tapestry
