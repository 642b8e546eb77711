// The gallery's mechanisms that are written with ops or with their own score: all weights of a head, from its queries and
// keys. The other arguments are the numbers from the sliders, and a function that returns learned tables.
(function () {
  const { softmax } = window.Drawing;
  const even = "This map uses random queries and keys, because if all were 0, all keys would get the same weight.";
  const dot = (a, b) => a.reduce((sum, x, u) => sum + x * b[u], 0);
  const length = (a) => Math.sqrt(dot(a, a));
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const pairs = (query, key, score) => query.map((q) => key.map((k) => score(q, k)));
  const scaled = (query, key) => pairs(query, key, (q, k) => dot(q, k) / Math.sqrt(q.length));
  const rows = (scores) => scores.map(softmax);
  const causal = (scores) => rows(scores.map((row, i) => row.map((s, j) => (j <= i ? s : -Infinity))));
  const part = (words, from, to) => words.map((word) => word.slice(from, to));

  function turned(words, base) {
    const half = words[0].length / 2;
    return words.map((word, place) => word.map((x, u) => {
      const angle = place * base ** (-(u % half) / half);
      return u < half ? x * Math.cos(angle) - word[u + half] * Math.sin(angle) : word[u - half] * Math.sin(angle) + x * Math.cos(angle);
    }));
  }
  function covering(query, key, v, u) {
    const past = key.map(() => 0);
    return query.map((q) => {
      const weights = softmax(key.map((k, j) => v.reduce((sum, x, m) => sum + x * Math.tanh(q[m] + k[m] + past[j] * u[m]), 0)));
      weights.forEach((weight, j) => { past[j] += weight; });
      return weights;
    });
  }
  // Mixes the heads: each keeps 1 − share of its own table. Tables (heads, n, n).
  const mixed = (heads, share) => heads.map((own) => own.map((row, i) => row.map((value, j) =>
    (1 - share) * value + share * heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length)));

  Object.assign(window.GalleryFormulas, {
    "rotary": { alike: "All queries and keys are the same nonzero vector, so the weights depend only on the positions.", weights: ({ query, key }, [power]) => rows(scaled(turned(query, 10 ** power), turned(key, 10 ** power))) },
    "cosine": { random: "This map uses random queries and keys, because a query of 0 has no direction.", weights: ({ query, key }, [gain]) =>
      rows(pairs(query, key, (q, k) => (gain * dot(q, k)) / (length(q) * length(k)))) },
    "normed additive": { random: even, weights: ({ query, key }, [gain], learned) => {
      const v = learned("v")[0], b = learned("b")[0];
      return rows(pairs(query, key, (q, k) => (gain * v.reduce((sum, x, u) => sum + x * Math.tanh(q[u] + k[u] + b[u]), 0)) / length(v)));
    } },
    "coverage": { random: even, weights: ({ query, key }, [spread], learned) =>
      covering(query, key, learned("v")[0], learned("u")[0].map((x) => spread * x)) },
    "local-p": { weights: ({ query, key }, [deviation], learned) => {
      const W = learned("W"), v = learned("v");
      return rows(scaled(query, key)).map((weights, i) => {
        const units = W[0].map((_, m) => Math.tanh(query[i].reduce((sum, x, u) => sum + x * W[u][m], 0)));
        const p = key.length * sigmoid(units.reduce((sum, x, m) => sum + x * v[m][0], 0));
        return weights.map((weight, j) => weight * Math.exp(-((j - p) ** 2) / (2 * deviation * deviation)));
      });
    } },
    "differential": { signed: true, weights: ({ query, key }, [lambda]) => {
      const half = query[0].length / 2;
      const [first, second] = [0, half].map((from) => causal(scaled(part(query, from, from + half), part(key, from, from + half))));
      return first.map((row, i) => row.map((weight, j) => weight - lambda * second[i][j]));
    } },
    "talking heads": { random: even, byHead: true, weights: ({ heads, h }, [share]) =>
      mixed(mixed(heads.map(({ query, key }) => scaled(query, key)), share).map(rows), share)[h] },
    "selective": { random: "This map uses random queries and keys, because with scores of 0 no query would select a key.", byHead: true,
      weights: ({ query, key, heads, h }, [factor]) => {
        const chosen = scaled(query, key), sums = key.map(() => 0);
        return causal(scaled(heads[h].query, heads[h].key).map((row, i) => {
          const lower = row.map((s, j) => s - factor * sums[j]);
          for (let j = 1; j < i; ++j) sums[j] += Math.max(0, chosen[i][j]);
          return lower;
        }));
      } },
    "sigmoid": { weights: ({ query, key }, [bias]) => scaled(query, key).map((scores, i) =>
      scores.map((s, j) => (j <= i ? sigmoid(s + bias - Math.log(key.length)) : 0))) },
    "output gate": { random: "This map uses random queries and keys, because queries of 0 would give all gates the same value.", byHead: true,
      weights: ({ query, key, h }, [open], learned) => {
        const w = learned("w")[h];
        return causal(scaled(query, key)).map((row, i) => row.map((weight) => sigmoid(dot(w, query[i]) + open) * weight));
      } },
  });
})();
