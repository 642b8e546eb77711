// The gallery: a map for each mechanism, computed again when a slider moves, and a sentence about the selected row.
(function () {
  const { make, html, number, point, slider, choice } = window.Drawing;
  const data = JSON.parse(document.getElementById("gallery-data").textContent);
  const n = data.places, unit = data.unit, shades = 20, deepest = 3, cell = 15, edge = 26;
  const places = Array.from({ length: n }, (_, i) => i);
  const shown = [];
  let random = false;

  // Each head's queries and keys: random, all 0, or all the same word for mechanisms that need nonzero vectors.
  const decoded = (table) => table.map((row) => row.map((value) => value * data.fine));
  const chance = data.query.map((query, h) => ({ query: decoded(query), key: decoded(data.key[h]) }));
  const every = (word) => chance.map(() => ({ query: places.map(() => word), key: places.map(() => word) }));
  const blank = every(chance[0].query[0].map(() => 0)), alike = every(chance[0].query[0]);

  function weightsOf(entry, formula, state) {
    const heads = random || formula.random ? chance : formula.alike ? alike : blank, { query, key } = heads[0];
    const learned = (name) => state.learned[name];
    if (formula.weights) return formula.weights({ query, key, heads, h: state.head }, state.numbers, learned);
    return places.map((i) => {
      const scores = places.map((j) => {
        if (formula.sees && !formula.sees(i, j, state.numbers)) return -Infinity;
        const s = query[i].reduce((sum, x, u) => sum + x * key[j][u], 0) / Math.sqrt(query[i].length);
        return formula.score ? formula.score(s, { i, j, h: state.head }, state.numbers, learned) : s;
      });
      const powers = scores.map(Math.exp);
      const sum = powers.reduce((a, b) => a + b, formula.sink ? formula.sink(state.numbers) : 0);
      return powers.map((power) => (sum ? power / sum : 0));
    });
  }

  function mechanism(place, entry, index) {
    const formula = window.GalleryFormulas[entry.name], into = place.querySelector(".shown");
    const state = { numbers: entry.knobs.map((knob) => knob.usual), head: 0, row: Math.floor(n / 2), weights: [],
      learned: Object.fromEntries(Object.entries(entry.learned).map(([name, table]) => [name, decoded(table)])) };
    const side = edge + n * cell + 2;
    const map = html(into, "div", { class: "weights", role: "slider", tabindex: 0, "aria-label": `${entry.name}: query of the selected row`,
      "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": n - 1 });
    const svg = make(map, "svg", { viewBox: `0 0 ${side} ${side}`, "aria-hidden": "true" });
    for (let i = 0; i < n; i += 5) {
      make(svg, "text", { x: edge + (i + 0.5) * cell, y: edge - 8, "text-anchor": "middle" }, i);
      make(svg, "text", { x: edge - 6, y: edge + (i + 0.5) * cell + 4, "text-anchor": "end" }, i);
    }
    const colour = (shade) => `${formula.signed ? "s" : "h"}${shade}`;
    const layers = Array.from({ length: shades + 1 }, (_, shade) => make(svg, "path", { class: colour(shade) }));
    const frame = make(svg, "rect", { class: "lit", x: edge - 1, width: n * cell + 1, height: cell + 1 });
    const scale = html(into, "p", { class: "scale", "aria-hidden": "true" }, formula.signed ? `−${deepest}` : "0");
    const shareAt = (shade) => (formula.signed ? 2 * shade / shades - 1 : shade / shades) * deepest;
    for (let shade = 0, strip = html(scale, "span"); shade <= shades; shade += 2) {
      for (const even of [-1, 1]) if (shareAt(shade - 2) < even && even < shareAt(shade)) {
        scale.append(number(even, 0));
        strip = html(scale, "span");
      }
      html(strip, "i", { class: colour(shade) });
    }
    scale.append(`${deepest} × uniform`);
    const says = html(into, "p", { class: "weights-says", "aria-live": "polite" });
    const differs = html(into, "p", { class: "differs soft" }, formula.random || formula.alike);
    const turned = [...place.querySelectorAll(".turned")];
    const controls = entry.knobs.map((knob, k) => slider(into, knob.name, knob.least, knob.most, knob.step, knob.usual, (value) => {
      state.numbers[k] = value;
      draw();
    }));
    if (formula.byHead) choice(into, "Head", `head-${index}`, places.slice(0, entry.heads), 0, (head) => { state.head = head; draw(); });

    const seen = (row) => row.filter((weight) => weight !== 0).length;
    function draw() {
      state.weights = weightsOf(entry, formula, state);
      const parts = layers.map(() => "");
      state.weights.forEach((row, i) => row.forEach((weight, j) => {
        const shares = Math.min(Math.max((weight * seen(row)) / deepest, -1), 1);  // as a fraction of the colour scale
        const share = formula.signed ? (shares + 1) / 2 : Math.max(shares, 0);
        parts[Math.round(share * shades)] += `M${edge + j * cell} ${edge + i * cell}h${cell - 1}v${cell - 1}h${1 - cell}z`;
      }));
      layers.forEach((layer, shade) => layer.setAttribute("d", parts[shade]));
      controls.forEach(({ says: out }, k) => { out.textContent = number(state.numbers[k], entry.knobs[k].step < 1 ? 2 : 0); });
      for (const word of turned) {
        const { least, step } = entry.knobs[word.dataset.knob];
        word.textContent = word.dataset.words.split(" ")[Math.round((state.numbers[word.dataset.knob] - least) / step)];
      }
      differs.hidden = random || !differs.textContent;
      place.dataset.weights = JSON.stringify(state.weights.map((row) => row.map((weight) => Math.round(weight / unit))));
      light(state.row);
    }
    function light(i) {
      state.row = Math.min(n - 1, Math.max(0, i));
      const row = state.weights[state.row];
      const top = places.filter((j) => row[j] !== 0).sort((a, b) => Math.abs(row[b]) - Math.abs(row[a])).slice(0, 3);
      const sum = row.reduce((a, b) => a + b, 0);
      const text = `Query ${state.row} attends to ${seen(row)} of ${n} keys: weight `
        + top.map((j) => `${number(row[j], 2)} on ${j}`).join(", ") + (seen(row) > 3 ? ", …" : "")
        + (Math.abs(sum - 1) > 0.005 ? `; its weights add up to ${number(sum, 2)}` : "");
      frame.setAttribute("y", edge + state.row * cell - 1);
      map.setAttribute("aria-valuenow", state.row);
      map.setAttribute("aria-valuetext", text);
      says.textContent = text.endsWith("…") ? text : text + ".";
    }
    const from = (event) => {
      const box = svg.getBoundingClientRect();
      light(Math.floor((((event.clientY - box.top) / box.height) * side - edge) / cell));
    };
    point(map, from, () => {
      const before = state.row;
      return () => light(before);
    }, { hovers: true, drags: false });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 5, PageUp: -5, Home: -n, End: n }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      light(state.row + step);
    });
    shown.push(draw);
    draw();
  }

  choice(document.querySelector(".before-scores"), "Scores before the mechanism", "scores", ["all 0", "random"], 0,
    (which) => { random = which === 1; for (const draw of shown) draw(); });
  document.querySelectorAll(".mechanism").forEach((place, index) => mechanism(place, data.entries[index], index));
})();
