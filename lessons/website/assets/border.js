// Lesson 03's border, where the network gives both spirals equal probabilities, at the recorded steps.
(function () {
  const { make, html, number, slider, choice, plays } = window.Drawing;
  const side = 400, sure = Math.log(9);  // log-odds of nine to one

  // Returns the area where `sign` times the values exceeds `level`, and the line around it.
  function regions(values, n, sign, level) {
    const above = (c, r) => sign * values[r * n + c] - level;
    const at = (c, r) => [c / (n - 1) * side, side - r / (n - 1) * side].map((v) => v.toFixed(1)).join(" ");
    const round = [[0, 0], [1, 0], [1, 1], [0, 1]];
    let area = "", line = "", count = 0;
    for (let r = 0; r + 1 < n; ++r)
      for (let c = 0; c + 1 < n; ++c) {
        const corners = [], crossings = [];
        round.forEach(([dc, dr], k) => {
          const [ec, er] = round[(k + 1) % 4], from = above(c + dc, r + dr), to = above(c + ec, r + er);
          if (from >= 0) corners.push(at(c + dc, r + dr));
          if ((from < 0) === (to < 0)) return;
          const part = from / (from - to), crossing = at(c + dc + part * (ec - dc), r + dr + part * (er - dr));
          corners.push(crossing);
          crossings.push(crossing);
        });
        if (corners.length) area += `M${corners.join("L")}Z`;
        for (let k = 0; k + 1 < crossings.length; k += 2) line += `M${crossings[k]}L${crossings[k + 1]}`;
        count += crossings.length / 2;
      }
    return { area, line, count };
  }

  for (const { place, data } of plays("border")) {
    const see = place.querySelector(".see");
    const state = { optimiser: data.optimisers.length - 1, at: 2 };
    const svg = make(html(place, "div", { class: "border-box" }), "svg",
      { viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "Points of two spirals, and the spiral that the network predicts at each place" });
    const areas = [-1, 1].map((sign) => [0, sure].map((level) => ({ sign, level, path: make(svg, "path", { class: sign < 0 ? "one" : "two" }) })));
    const scale = (value, up) => { const v = (value / 100 - data.least) / (data.most - data.least) * side; return up ? side - v : v; };
    data.points.forEach((xy, label) => {
      let d = "";
      for (let i = 0; i < xy.length; i += 2) {
        const x = scale(xy[i]).toFixed(1), y = scale(xy[i + 1], true).toFixed(1);
        d += label ? `M${x} ${(y - 2).toFixed(1)}v4m-2-2h4` : `M${x} ${y}h0`;
      }
      make(svg, "path", { class: label ? "crosses" : "dots", d });
    });
    const border = make(svg, "path", { class: "line" });
    const says = html(place, "p", { class: "border-says", "aria-live": "polite" });
    choice(place, "Optimiser", "border-optimiser", data.optimisers.map(({ name }) => name), state.optimiser, (which) => { state.optimiser = which; draw(); });
    const control = slider(place, "Step", 0, data.optimisers[0].steps.length - 1, 1, state.at, (at) => { state.at = at; draw(); });
    place.append(see);

    function draw() {
      const { name, steps, right, log_odds: maps, units } = data.optimisers[state.optimiser];
      const values = maps[state.at].map((value) => value * units[state.at]);
      for (const { sign, level, path } of areas.flat()) path.setAttribute("d", regions(values, data.side, sign, level).area);
      const { line, count } = regions(values, data.side, 1, 0);
      border.setAttribute("d", line);
      const step = steps[state.at];
      control.says.textContent = step;
      control.input.setAttribute("aria-valuetext", `step ${step}`);
      says.textContent = `${name}, step ${step}: ${number(right[state.at], 1)} % of the held-out points are on the right side of the border`
        + (count ? "." : ". There is no border in this area yet: the network predicts one spiral everywhere.");
    }
    draw();
  }
})();
