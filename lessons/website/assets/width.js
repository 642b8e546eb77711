// Lesson 08's widths: ten keys and a query of d random numbers, their weights with and without √d.
(function () {
  const { make, html, number, softmax, normal, slider, plays } = window.Drawing;
  const keys = 10, most = 1024;

  for (const { place, data } of plays("width")) {
    const see = place.querySelector(".see");
    let seed = 1, query, table;
    function choose() {
      const chance = normal(seed);
      query = Array.from({ length: most }, chance);
      table = Array.from({ length: keys }, () => Array.from({ length: most }, chance));
    }
    choose();
    const svg = make(html(place, "div"), "svg", { viewBox: "0 0 600 250", role: "img", "aria-label": "Weights of ten keys, without and with the division by √d" });
    const groups = ["softmax of q·k", "softmax of q·k / √d"].map((name, g) => {
      const left = 20 + 300 * g;
      make(svg, "text", { x: left, y: 22 }, name);
      make(svg, "path", { class: "axis", d: `M${left} 200h250` });
      const bars = Array.from({ length: keys }, (_, j) => make(svg, "rect", { class: "bar-weight", x: left + 25 * j, width: 20, rx: 2 }));
      const text = make(svg, "text", { x: left, y: 226 });
      return { bars, text };
    });
    const says = html(place, "p", { class: "width-says", "aria-live": "polite" });
    const control = slider(place, "d", 1, 10, 1, 2, draw);
    const again = html(html(place, "p", { class: "control" }), "button", { type: "button", class: "quiet" }, "Draw other numbers");
    again.addEventListener("click", () => { seed += 1; choose(); draw(Number(control.input.value)); });
    place.append(see);

    const size = (weights) => {
      const s2 = weights.reduce((a, w) => a + w * w, 0), s3 = weights.reduce((a, w) => a + w ** 3, 0);
      return Math.sqrt(Math.max(0, s2 - 2 * s3 + s2 * s2));
    };
    const written = (value) => (value >= 0.001 ? number(value, 3) : value.toExponential(1).replace("-", "−"));
    function draw(power) {
      const d = 2 ** power;
      const scores = table.map((key) => { let sum = 0; for (let i = 0; i < d; ++i) sum += query[i] * key[i]; return sum; });
      const sets = [softmax(scores), softmax(scores.map((score) => score / Math.sqrt(d)))];
      const told = sets.map((weights, g) => {
        weights.forEach((weight, j) => {
          groups[g].bars[j].setAttribute("height", Math.max(0.5, 160 * weight));
          groups[g].bars[j].setAttribute("y", 200 - Math.max(0.5, 160 * weight));
        });
        const norm = size(weights);
        const text = written(norm);
        groups[g].text.textContent = `largest ${number(Math.max(...weights), 3)}, ‖J‖ ${text}`;
        return text;
      });
      control.says.textContent = String(d);
      control.input.setAttribute("aria-valuetext", `d = ${d}`);
      const median = data.medians[d];
      says.textContent = `d = ${d}: ‖J‖ is ${told[0]} without √d, and ${told[1]} with it.`
        + (median ? ` The run below measured medians of ${written(median[0])} and ${written(median[1])}.` : "");
      place.dataset.norms = JSON.stringify(sets.map(size));
    }
    draw(2);
  }
})();
