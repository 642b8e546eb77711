// Lesson 06's two keys and two values: drag the query, and see the scores, the weights and the context.
(function () {
  const { make, number, softmax, slider, html, plays } = window.Drawing;
  const keys = [[1, 0], [0, 1]], values = [[10, 0], [0, 10]];
  const unit = 42, middle = [150, 170];

  for (const { place } of plays("query")) {
    const see = place.querySelector(".see");
    const box = html(place, "div", { class: "query-box" });
    const svg = make(box, "svg", { viewBox: "0 0 600 310", role: "img", "aria-label": "Two keys and a query on the left; the weights and the context on the right" });
    const at = ([a, b]) => [middle[0] + a * unit, middle[1] - b * unit];
    make(svg, "path", { class: "axis", d: `M10 ${middle[1]}H290M${middle[0]} 20V300` });
    const arrow = (className) => make(svg, "line", { class: className, x1: middle[0], y1: middle[1] });
    const point = (line, [a, b]) => { const [x, y] = at([a, b]); line.setAttribute("x2", x); line.setAttribute("y2", y); };
    keys.forEach((key, j) => {
      point(arrow("key-arrow"), key);
      const [x, y] = at(key);
      make(svg, "text", { x: x + (j ? 8 : -2), y: y + (j ? -4 : 20) }, j ? "k₂" : "k₁");
    });
    const queryArrow = arrow("query-arrow");
    const handle = make(svg, "circle", { class: "asks", r: 10 });
    const bars = keys.map((_, j) => {
      make(svg, "text", { x: 330, y: 52 + 46 * j }, j ? "k₂" : "k₁");
      const bar = make(svg, "rect", { class: "bar-weight", x: 360, y: 36 + 46 * j, height: 22, rx: 3 });
      const text = make(svg, "text", { y: 52 + 46 * j });
      return { bar, text };
    });
    make(svg, "line", { class: "axis", x1: 360, x2: 560, y1: 190, y2: 190 });
    make(svg, "text", { x: 360, y: 216, "text-anchor": "middle" }, "v₁ (10, 0)");
    make(svg, "text", { x: 545, y: 216, "text-anchor": "middle" }, "v₂ (0, 10)");
    const read = make(svg, "circle", { class: "asks", r: 8, cy: 190 });
    const readText = make(svg, "text", { y: 174, "text-anchor": "middle" });
    const says = html(place, "p", { class: "query-says", "aria-live": "polite" });
    const state = [2, 0];
    const sliders = [0, 1].map((i) => slider(place, i ? "q, second number" : "q, first number", -3, 3, 0.1, state[i], (value) => { state[i] = value; draw(); }));
    place.append(see);

    function draw() {
      point(queryArrow, state);
      const [x, y] = at(state);
      handle.setAttribute("cx", x);
      handle.setAttribute("cy", y);
      const scores = keys.map((key) => (state[0] * key[0] + state[1] * key[1]) / Math.SQRT2);
      const weights = softmax(scores);
      const context = [0, 1].map((i) => weights.reduce((sum, weight, j) => sum + weight * values[j][i], 0));
      bars.forEach(({ bar, text }, j) => {
        bar.setAttribute("width", Math.max(1, weights[j] * 130));
        text.setAttribute("x", 368 + weights[j] * 130);
        text.textContent = `${number(weights[j], 3)}  (score ${number(scores[j], 3)})`;
      });
      read.setAttribute("cx", 360 + weights[1] * 200);
      readText.setAttribute("x", 360 + weights[1] * 200);
      readText.textContent = `(${context.map((c) => number(c, 2)).join(", ")})`;
      sliders.forEach(({ input, says: out }, i) => { input.value = state[i]; out.textContent = number(state[i], 1); });
      says.textContent = `q = (${state.map((q) => number(q, 1)).join(", ")}): weights ${weights.map((w) => number(w, 3)).join(" and ")}, context (${context.map((c) => number(c, 2)).join(", ")}).`;
      place.dataset.weights = JSON.stringify(weights);
    }
    const move = (event) => {
      const rect = svg.getBoundingClientRect(), scale = 600 / rect.width;
      const clamp = (value) => Math.min(3, Math.max(-3, Math.round(value * 10) / 10));
      state[0] = clamp(((event.clientX - rect.left) * scale - middle[0]) / unit);
      state[1] = clamp((middle[1] - (event.clientY - rect.top) * scale) / unit);
      draw();
    };
    handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); });
    handle.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
    draw();
  }
})();
