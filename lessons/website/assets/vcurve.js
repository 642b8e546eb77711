// Lesson 02's V curve: each recorded error, and its two parts.
(function () {
  const { make, html, slider, choice, point, plays } = window.Drawing;
  const left = 62, right = 530, top = 16, bottom = 282, powers = { x: [-13, 0], y: [-17, 1] }, least = 1e-17;
  const raised = (value) => String(value).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);

  for (const { place, data } of plays("vcurve")) {
    const see = place.querySelector(".see");
    const x = (value) => left + (Math.log10(value) - powers.x[0]) / (powers.x[1] - powers.x[0]) * (right - left);
    const y = (value) => bottom - (Math.log10(Math.max(Math.abs(value), least)) - powers.y[0]) / (powers.y[1] - powers.y[0]) * (bottom - top);
    const state = { curve: 0, at: data.curves[0].rows.findIndex(([epsilon]) => epsilon > 0.9e-3) };
    const box = html(place, "div", { class: "vcurve-box" });
    const svg = make(box, "svg", { viewBox: "0 0 560 330", role: "img", "aria-label": "Error of a difference versus its step, both on logarithmic axes" });
    make(svg, "path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` });
    for (let power = -12; power <= 0; power += 3) make(svg, "text", { x: x(10 ** power), y: bottom + 20, "text-anchor": "middle" }, `10${raised(power)}`);
    for (let power = -16; power <= 0; power += 4) make(svg, "text", { x: left - 8, y: y(10 ** power) + 4, "text-anchor": "end" }, `10${raised(power)}`);
    make(svg, "text", { x: right, y: bottom + 40, "text-anchor": "end" }, "ε");
    const drawn = ["truncation", "rounding", "error"].map((name) => make(svg, "path", { class: name }));
    const asking = make(svg, "line", { class: "asking", y1: top, y2: bottom });
    const marks = ["truncation", "rounding", "error"].map((name) => make(svg, "circle", { class: `${name}-mark`, r: name === "error" ? 6 : 4.5 }));
    const key = html(place, "p", { class: "vcurve-key" });
    for (const name of ["error", "truncation", "rounding"]) html(key, "span", { class: name }, name);
    const says = html(place, "p", { class: "vcurve-says", "aria-live": "polite" });
    choice(place, "Difference", "vcurve-difference", data.curves.map(({ name }) => name), state.curve, (which) => { state.curve = which; draw(); });
    const control = slider(place, "ε", 0, data.curves[0].rows.length - 1, 1, state.at, (at) => { state.at = at; draw(); });
    place.append(see);

    const written = (value) => {
      if (value === 0) return "0";
      const [digits, power] = Math.abs(value).toExponential(1).split("e");
      return `${value < 0 ? "−" : ""}${digits}\u00a0·\u00a010${raised(Number(power))}`;
    };
    function draw() {
      const { name, rows } = data.curves[state.curve], [epsilon, error, truncation, rounding] = rows[state.at];
      const spots = (column) => rows.filter((row) => Math.abs(row[column]) >= least).map((row) => `${x(row[0]).toFixed(1)} ${y(row[column]).toFixed(1)}`);
      drawn[0].setAttribute("d", "M" + spots(2).join("L"));
      drawn[1].setAttribute("d", spots(3).map((spot) => `M${spot}h0`).join(""));
      drawn[2].setAttribute("d", "M" + spots(1).join("L"));
      for (const end of ["x1", "x2"]) asking.setAttribute(end, x(epsilon));
      [truncation, rounding, error].forEach((value, i) => {
        marks[i].setAttribute("cx", x(epsilon));
        marks[i].setAttribute("cy", y(value));
        marks[i].style.display = Math.abs(value) < least ? "none" : "";
      });
      control.says.textContent = written(epsilon);
      control.input.setAttribute("aria-valuetext", `ε = ${written(epsilon)}`);
      control.input.value = state.at;
      const most = Math.abs(truncation) > Math.abs(rounding) ? "truncation" : "rounding";
      says.textContent = `${name}, ε = ${written(epsilon)}: the error is ${written(error)}, the sum of ${written(truncation)} from truncation and ${written(rounding)} from rounding. `
        + `The error is mostly ${most}.`;
      place.dataset.shown = JSON.stringify([epsilon, error, truncation, rounding]);
    }
    const nearest = (event) => {
      const rect = svg.getBoundingClientRect(), at = (event.clientX - rect.left) / rect.width * 560;
      const far = data.curves[state.curve].rows.map(([epsilon]) => Math.abs(x(epsilon) - at));
      state.at = far.indexOf(Math.min(...far));
      draw();
    };
    point(svg, nearest, () => {
      const before = state.at;
      return () => { state.at = before; draw(); };
    });
    draw();
  }
})();
