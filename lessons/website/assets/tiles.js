// Lesson 25's kernel, tile by tile: the order of the tiles, the skipped tiles, and the progress of each query's sum.
(function () {
  const { make, html, number, slider, steps, choice, plays } = window.Drawing;
  const together = 8;  // tiles of queries that share a loop over the keys: one task of the kernel
  const room = 400, strip = 96;

  // Returns [first query, first key] of each computed tile, in order, and of each tile that the mask lets the kernel skip.
  function visits({ queries, keys, queryTile, keyTile, causal }) {
    const done = [], skipped = [], ahead = keys - queries;
    for (let first = 0; first < queries; first += together * queryTile)
      for (let key = 0; key < keys; key += keyTile)
        for (let query = first; query < Math.min(queries, first + together * queryTile); query += queryTile) {
          const last = Math.min(queries, query + queryTile) - 1;
          (causal && key > last + ahead ? skipped : done).push([query, key]);
        }
    return { done, skipped };
  }

  for (const { place, data } of plays("tiles")) {
    const see = place.querySelector(".see"), width = data.width, words = data.q.length / width;
    const state = { queries: words, keys: words, queryTile: data.query_tile, keyTile: data.key_tile, causal: true, query: 60, step: 0 };
    let order, running, timer = null;

    const svg = make(html(place, "div", { class: "tiles-box" }), "svg",
      { viewBox: `0 0 ${room + strip + 54} ${room + 44}`, role: "img", "aria-label": "Tiles of queries by keys, numbered in the order of the kernel" });
    const says = html(place, "p", { class: "tiles-says", "aria-live": "polite" });
    const control = slider(place, "Tiles done", 0, 1, 1, 0, (step) => { stop(); state.step = step; draw(); });
    const buttons = steps(place, control, (step) => { stop(); state.step = step; draw(); });
    const player = html(buttons, "button", { type: "button", class: "quiet" }, "Play");
    choice(place, "Mask", "tiles-mask", ["none", "causal"], 1, (which) => change("causal", which === 1));
    const dialled = html(place, "div", { class: "dials" });
    const dial = (name, key, least, most, step) => slider(dialled, name, least, most, step, state[key], (value) => change(key, value));
    const dials = { query: dial("A query to follow", "query", 0, words - 1, 1), queries: dial("Queries", "queries", 24, words, 4),
      keys: dial("Keys", "keys", 24, words, 4), queryTile: dial("Queries in a tile", "queryTile", 12, 96, 12), keyTile: dial("Keys in a tile", "keyTile", 12, 192, 12) };
    place.append(see);
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    const quiet = () => { player.hidden = still.matches; if (still.matches) stop(); };
    still.addEventListener("change", quiet);
    quiet();

    function stop() {
      clearInterval(timer);
      timer = null;
      player.textContent = "Play";
      says.setAttribute("aria-live", "polite");
    }
    player.addEventListener("click", () => {
      if (timer !== null) return stop();
      if (state.step === order.done.length) state.step = 0;
      player.textContent = "Stop";
      says.setAttribute("aria-live", "off");
      timer = setInterval(() => {
        state.step += 1;
        draw();
        if (state.step === order.done.length) stop();
      }, Math.max(60, Math.min(500, 20000 / order.done.length)));
    });

    function change(key, value) {
      stop();
      state[key] = value;
      state.query = Math.min(state.query, state.queries - 1);
      if (key !== "query") state.step = 0;
      prepare();
      draw();
    }

    // The online softmax of every query after a number of tiles: the lesson's take(), for all scores of a tile at once.
    const seen = (i, j) => !state.causal || j <= i + state.keys - state.queries;
    const score = (i, j) => {
      let sum = 0;
      for (let c = 0; c < width; ++c) sum += data.q[i * width + c] * data.k[j * width + c];  // both in hundredths
      return sum * 1e-4 / Math.sqrt(width);
    };
    function take(top, sum, [query, key], follow) {
      for (let i = query; i < Math.min(state.queries, query + state.queryTile); ++i) {
        const scores = [];
        for (let j = key; j < Math.min(state.keys, key + state.keyTile); ++j) if (seen(i, j)) scores.push(score(i, j));
        if (!scores.length) { if (i === state.query) follow({ none: true }); continue; }
        const newTop = Math.max(top[i], ...scores), shrink = Math.exp(top[i] - newTop);
        const more = scores.reduce((a, s) => a + Math.exp(s - newTop), 0);
        if (i === state.query) follow({ before: top[i], top: newTop, shrink, had: sum[i], more });
        sum[i] = sum[i] * shrink + more;
        top[i] = newTop;
      }
    }
    function after(count) {
      const top = new Array(state.queries).fill(-Infinity), sum = new Array(state.queries).fill(0);
      let last = null;
      order.done.slice(0, count).forEach((tile, i) => take(top, sum, tile, (told) => { if (i === count - 1) last = told; }));
      return { top, sum, last, logs: top.map((t, i) => t + Math.log(sum[i])) };
    }
    function prepare() {
      order = visits(state);
      running = after(order.done.length);
      control.input.max = order.done.length;
      dials.query.input.max = state.queries - 1;
    }

    function draw() {
      const { queries, keys, queryTile, keyTile, causal, step } = state, scale = room / Math.max(queries, keys);
      const now = after(step), here = step ? order.done[step - 1] : null;
      const shares = now.logs.map((log, i) => (now.sum[i] ? Math.exp(log - running.logs[i]) : 0));
      const top = 30, left = 26, across = keys * scale;
      svg.replaceChildren();
      make(svg, "text", { x: left, y: 20 }, "keys →");
      make(svg, "text", { x: 14, y: top + 58, transform: `rotate(-90 14 ${top + 58})` }, "← queries");
      const tile = ([query, key], name, text) => {
        const x = left + key * scale, wide = Math.min(keyTile, keys - key) * scale;
        const y = top + query * scale, tall = Math.min(queryTile, queries - query) * scale;
        make(svg, "rect", { class: name, x: x + 1, y: y + 1, width: Math.max(1, wide - 2), height: Math.max(1, tall - 2), rx: 2 });
        if (text && tall > 24 && wide > 30) make(svg, "text", { x: x + wide / 2, y: y + tall / 2 + 5, "text-anchor": "middle", class: name }, text);
      };
      for (const one of order.skipped) tile(one, "skipped");
      order.done.forEach((one, i) => tile(one, i === step - 1 ? "here" : i < step ? "done" : "waits", String(i + 1)));
      if (causal) {
        const ahead = keys - queries, from = Math.max(0, -ahead);
        make(svg, "path", { class: "diagonal",
          d: `M${left + Math.max(0, ahead) * scale} ${top + from * scale}L${left + across} ${top + queries * scale}` });
      }
      const bars = left + across + 14;
      make(svg, "text", { x: bars + strip, y: 20, "text-anchor": "end" }, "part of sum");
      const ends = shares.map((share, i) => `H${(bars + share * strip).toFixed(1)}V${(top + (i + 1) * scale).toFixed(1)}`);
      make(svg, "path", { class: "sums", d: `M${bars} ${top}${ends.join("")}H${bars}Z` });
      make(svg, "path", { class: "axis", d: `M${bars} ${top}V${top + queries * scale}` });
      make(svg, "line", { class: "asking", x1: left, x2: bars + strip, y1: top + (state.query + 0.5) * scale, y2: top + (state.query + 0.5) * scale });

      const total = order.done.length, all = total + order.skipped.length;
      control.input.value = step;
      control.says.textContent = `${step} of ${total}`;
      control.input.setAttribute("aria-valuetext", `${step} of ${total} tiles`);
      for (const [key, { input, says: out }] of Object.entries(dials)) { input.value = state[key]; out.textContent = String(state[key]); }
      says.textContent = tell(now, here, shares[state.query], total, all);
      Object.assign(place.dataset, { visits: JSON.stringify(order.done), skipped: order.skipped.length,
        query: JSON.stringify([now.top[state.query], now.sum[state.query]]),
        logs: JSON.stringify(now.logs.map((log) => (Number.isFinite(log) ? log : null))) });
    }

    function tell(now, here, share, total, all) {
      const i = state.query, which = `Query ${i}`;
      const count = all > total ? `The kernel computes ${total} of ${all} tiles; the other tiles are masked completely.` : `The kernel computes all ${all} tiles.`;
      if (!here) return `${count} Each query starts with the top −∞ and the sum 0.`;
      const [query, key] = here, lastQuery = Math.min(state.queries, query + state.queryTile) - 1, lastKey = Math.min(state.keys, key + state.keyTile) - 1;
      const begin = `Tile ${state.step}: queries ${query} to ${lastQuery}, keys ${key} to ${lastKey}. `, part = `${number(100 * share, 0)} % of the final sum`;
      const stands = now.sum[i] ? `its top is ${number(now.top[i], 2)} and its sum is ${number(now.sum[i], 2)}, ${part}` : "it has visited no key yet";
      if (!now.last || now.last.none) return `${begin}${which} ${now.last ? "may not attend to these keys" : "is not in this tile"}; ${stands}.`;
      const { before, top, shrink, had, more } = now.last;
      const rises = before === -Infinity ? `gets its first top, ${number(top, 2)}`
        : top === before ? `keeps its top, ${number(top, 2)}`
        : `gets a new top, ${number(top, 2)} instead of ${number(before, 2)}, so its old sum is multiplied by ${number(shrink, 3)}`;
      const sum = had ? `${number(had, 2)}${shrink < 1 ? ` · ${number(shrink, 3)}` : ""} + ${number(more, 2)} = ${number(now.sum[i], 2)}` : number(more, 2);
      return `${begin}${which} ${rises}: its sum is ${sum}, ${part}.`;
    }
    prepare();
    draw();
  }
})();
