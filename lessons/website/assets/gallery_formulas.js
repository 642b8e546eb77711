// The gallery's mechanisms by element: which pairs count, and what becomes of a score. i is the query's place, j the
// key's, h the head; then the numbers under the sliders, and a reader of what is learned.
window.GalleryFormulas = (function () {
  const causal = (i, j) => j <= i;
  const text = (t, lengths) => {
    let end = 0, which = 0;
    for (const length of lengths) if (t >= (end += length)) which += 1;
    return which;
  };
  const ancestor = (i, j, children) => {
    while (i > j) i = Math.floor((i - 1) / children);
    return i === j;
  };
  const bucket = (far, farthest) => (far < 8 ? far : Math.min(15, Math.floor(8 + (8 / Math.log2(farthest / 8)) * Math.log2(far / 8))));
  // Why a map does not begin with scores of 0, in words.
  const even = "Random queries and keys: with scores of 0 every key would get the same weight.";
  const logSigmoid = (x) => -Math.log1p(Math.exp(-x));

  return {
    "causal": { sees: causal },
    "sliding window": { sees: (i, j, [window]) => j <= i && i - j < window },
    "dilated": { sees: (i, j, [step]) => j <= i && (i - j) % step === 0 },
    "prefix-LM": { sees: (i, j, [prompt]) => j <= i || j < prompt },
    "document": { sees: (i, j, lengths) => j <= i && text(i, lengths) === text(j, lengths) },
    "block-diagonal": { sees: (i, j, [block]) => Math.floor(i / block) === Math.floor(j / block) },
    "global + window": { sees: (i, j, [all, reach]) => i < all || j < all || Math.abs(i - j) <= reach },
    "tree mask": { sees: (i, j, [children]) => ancestor(i, j, children) },
    "ALiBi": { sees: causal, byHead: true, score: (s, { i, j, h }, [steepest]) => s - (steepest / 4 ** h) * Math.abs(i - j) },
    "relative bias": { byHead: true, score: (s, { i, j, h }, [farthest], learned) =>
      s + learned("bias")[h][Math.max(Math.min(j - i, farthest), -farthest) + 8] },
    "T5 buckets": { sees: causal, byHead: true, score: (s, { i, j, h }, [farthest], learned) => s + learned("bias")[h][bucket(i - j, farthest)] },
    "soft-cap": { random: even, score: (s, _, [cap]) => cap * Math.tanh(s / cap) },
    "distance decay": { sees: causal, score: (s, { i, j }, [amount, rate]) => s - amount * Math.log(1 + rate * Math.abs(i - j)) },
    "learned temperature": { random: even, score: (s, _, [t]) => s / t },
    "forgetting": { sees: causal, byHead: true, score: (s, { i, j, h }, [open], learned) => {
      for (let l = j + 1; l <= i; ++l) s += logSigmoid(learned("gate")[h][l % 16] + open);
      return s;
    } },
    "sink": { sees: causal, sink: ([c]) => Math.exp(c) },
  };
})();
