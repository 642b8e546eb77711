// Lesson 13's window over the scores of a trained model: its position and width on sliders, and the resulting weights.
(function () {
  const { make, html, number, softmax, slider, choice, point, plays } = window.Drawing;
  const left = 20, right = 580, zero = 66, tall = 46, bottom = 280, high = 130;

  for (const { place, data } of plays("window")) {
    const see = place.querySelector(".see");
    const state = { text: data.texts.length - 1, row: 2 };
    const svg = make(html(place, "div", { class: "window-box" }), "svg",
      { viewBox: "0 0 600 330", role: "img", "aria-label": "Above, the score of each key and the window; below, the Gaussian and the weights" });
    const says = html(place, "p", { class: "window-says", "aria-live": "polite" });
    choice(place, "Model", "window-text", data.texts.map(({ name }) => name), state.text, (which) => { state.text = which; trained(); });
    const row = slider(place, "Answer t", 0, 7, 1, state.row, (value) => { state.row = value; trained(); });
    const middle = slider(place, "p_t", 0, 15, 0.05, 0, (value) => { state.p = value; draw(); });
    const reach = slider(place, "D", 0, 6, 1, 2, (value) => { state.reach = value; draw(); });
    const again = html(html(place, "p", { class: "control" }), "button", { type: "button", class: "quiet" }, "Reset to the run");
    again.addEventListener("click", trained);
    place.append(see);

    // Restores p and D of the model at this answer.
    function trained() {
      const text = data.texts[state.text];
      state.p = text.p[state.row];
      state.reach = text.reach;
      row.input.max = text.answers.length - 1;
      middle.input.max = text.source.length - 1;
      reach.input.min = text.fades ? 1 : 0;  // σ = D/2
      draw();
    }

    // The lesson's weights_near().
    function weigh({ scores, fades }) {
      const away = scores[state.row].map((_, j) => j - state.p);
      const sees = away.map((far) => !(state.reach < Math.abs(far)));
      const inside = scores[state.row].filter((_, j) => sees[j]), soft = inside.length ? softmax(inside) : [];
      const chosen = sees.map((seen) => (seen ? soft.shift() : 0));
      const sigma = state.reach / 2;
      const fade = away.map((far) => (fades ? Math.exp(-far * far / (2 * sigma * sigma)) : 1));
      return { sees, chosen, weights: chosen.map((weight, j) => weight * fade[j]) };
    }

    function draw() {
      const text = data.texts[state.text], keys = text.source.length, step = (right - left) / keys, scores = text.scores[state.row];
      const { sees, chosen, weights } = weigh(text), x = (j) => left + step * (j + 0.5);
      const most = Math.max(...scores.map(Math.abs)), bar = Math.min(22, step * 0.6);
      const clamp = (value) => Math.min(right, Math.max(left, value));
      svg.replaceChildren();
      const from = clamp(x(state.p - state.reach)), to = clamp(x(state.p + state.reach));
      make(svg, "rect", { class: "sight", x: from, y: 8, width: Math.max(1, to - from), height: bottom - 8 });
      make(svg, "line", { class: "asking", x1: clamp(x(state.p)), x2: clamp(x(state.p)), y1: 8, y2: bottom });
      make(svg, "path", { class: "axis", d: `M${left} ${zero}H${right}M${left} ${bottom}H${right}` });
      make(svg, "text", { x: left, y: 20 }, "scores");
      make(svg, "text", { x: left, y: bottom - high - 14 }, "weights");
      for (let j = 0; j < keys; ++j) {
        const height = Math.max(1, Math.abs(scores[j]) / most * tall);
        make(svg, "rect", { class: sees[j] ? "bar-weight" : "bar-hidden", x: x(j) - bar / 2, y: scores[j] < 0 ? zero : zero - height, width: bar, height });
        make(svg, "rect", { class: "bar-chosen", x: x(j) - bar / 2, y: bottom - high * chosen[j], width: bar, height: high * chosen[j] });
        make(svg, "rect", { class: "bar-weight", x: x(j) - bar / 2, y: bottom - high * weights[j], width: bar, height: high * weights[j] });
        make(svg, "text", { x: x(j), y: bottom + 20, "text-anchor": "middle", class: sees[j] ? "" : "faint" }, text.source[j]);
        if (keys < 10 || j % 2 === 0) make(svg, "text", { x: x(j), y: bottom + 40, "text-anchor": "middle", class: "faint" }, String(j));
      }
      if (text.fades && state.reach) {
        let d = "";
        for (let px = left; px <= right; px += 4) {
          const far = (px - x(0)) / step - state.p;
          d += `${d ? "L" : "M"}${px} ${(bottom - high * Math.exp(-2 * far * far / (state.reach * state.reach))).toFixed(1)}`;
        }
        make(svg, "path", { class: "gaussian", d });
      }
      row.input.value = state.row;
      row.says.textContent = `${state.row}: output "${text.answers[state.row]}"`;
      middle.input.value = state.p;
      middle.says.textContent = number(state.p, 2);
      reach.input.value = state.reach;
      reach.says.textContent = String(state.reach);
      const inside = sees.map((_, j) => j).filter((j) => sees[j]), sum = weights.reduce((a, b) => a + b, 0);
      says.textContent = !inside.length ? `p = ${number(state.p, 2)}, D = ${state.reach}: no key is in the window, so all weights are 0.`
        : `p = ${number(state.p, 2)}, D = ${state.reach}: in the window `
          + (inside.length > 1 ? `are keys ${inside[0]} to ${inside[inside.length - 1]}, with weights ` : `is key ${inside[0]}, with weight `)
          + `${inside.map((j) => number(weights[j], 2)).join(", ")}; their sum is ${number(sum, 2)}.`;
      place.dataset.weights = JSON.stringify(weights);
    }
    const move = (event) => {
      const rect = svg.getBoundingClientRect(), keys = data.texts[state.text].source.length;
      const at = ((event.clientX - rect.left) / rect.width * 600 - left) / (right - left) * keys - 0.5;
      state.p = Math.round(Math.min(keys - 1, Math.max(0, at)) * 20) / 20;
      draw();
    };
    point(svg, move, () => {
      const before = state.p;
      return () => { state.p = before; draw(); };
    });
    trained();
  }
})();
