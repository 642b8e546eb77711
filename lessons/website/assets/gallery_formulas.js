// The gallery's elementwise mechanisms: masks and score functions. i is the position of the query, j the position of the
// key, h the head. The other arguments are the numbers from the sliders, and a function that returns learned tables.
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
  // The reason why a map does not start with scores of 0.
  const even = "This map uses random queries and keys, because with scores of 0 all keys would get the same weight.";
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
