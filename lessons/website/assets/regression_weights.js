// Lesson 05's attention: a query among measured points, with a thread to each point whose width shows the weight.
(function () {
  const { make, number, softmax, point, plays } = window.Drawing;
  const left = 34, right = 542, top = 34, thickest = 12;  // a weight of 0.3 or more

  for (const { place, data } of plays("regression_weights")) {
    if (!data.points) continue;
    const regression_weights = place.querySelector(".regression_weights"), svg = regression_weights.querySelector("svg");
    const sigma = place.querySelector(".sigma"), sigmaSays = place.querySelector(".sigma-says");
    const says = place.querySelector(".regression_weights-says");
    const bottom = svg.viewBox.baseVal.height - 34;
    const most = 6.2, least = -0.6;
    const x = (value) => left + (value / 5) * (right - left);
    const y = (value) => bottom - ((value - least) / (most - least)) * (bottom - top);
    const state = { query: 2, sigma: Number(sigma.value) / 100 };

    const weights = (query) => softmax(data.points.map(([k]) => -((query - k) ** 2) / (2 * state.sigma ** 2)));
    const answer = (w) => w.reduce((sum, weight, j) => sum + weight * data.points[j][1], 0);
    // A curve as line segments. A segment is halved until its middle lies on the curve, since with a small σ the answers
    // jump from key to key.
    function line(f) {
      const pieces = 400, points = [[0, f(0)]];
      const reach = (from, to, depth) => {
        const middle = (from[0] + to[0]) / 2, value = f(middle);
        if (depth > 0 && Math.abs(y(value) - y((from[1] + to[1]) / 2)) > 0.2) {
          reach(from, [middle, value], depth - 1);
          reach([middle, value], to, depth - 1);
        } else {
          points.push(to);
        }
      };
      for (let i = 1; i <= pieces; ++i) reach(points[points.length - 1], [5 * i / pieces, f(5 * i / pieces)], 7);
      return "M" + points.map(([u, v]) => `${x(u).toFixed(2)} ${y(v).toFixed(1)}`).join("L");
    }

    for (const value of [0, 2, 4, 6]) {
      make(svg, "line", { class: "level", x1: left, x2: right, y1: y(value), y2: y(value) });
      make(svg, "text", { x: left - 10, y: y(value) + 5, "text-anchor": "end" }, String(value));
    }
    make(svg, "path", { class: "curve", d: line((v) => 2 * Math.sin(v) + v) });
    const answers = make(svg, "path", { class: "answers" });
    const asking = make(svg, "line", { class: "asking", y1: top - 8, y2: bottom });
    const threads = data.points.map(() => make(svg, "path", { class: "thread" }));
    for (const [k, v] of data.points) make(svg, "circle", { class: "key", cx: x(k), cy: y(v), r: 3.2 });
    const dot = make(svg, "circle", { class: "asks", r: 8 });
    // A legend, where there are no points.
    [["answers", "the answer to each query"], ["curve", "the curve behind the measurements"]].forEach(([kind, name], i) => {
      const at = y(0.85 - 0.7 * i);
      make(svg, "path", { class: kind, d: `M${x(1.5)} ${at - 5}h30` });
      make(svg, "text", { class: "line-name", x: x(1.5) + 40, y: at }, name);
    });
    const query = make(svg, "text", { class: "query-name", y: top - 14 }, "query");
    for (let k = 0; k <= 5; ++k) make(svg, "text", { x: x(k), y: bottom + 22, "text-anchor": "middle" }, String(k));

    function draw() {
      const w = weights(state.query), c = answer(w);
      const cx = x(state.query), cy = y(c);
      data.points.forEach(([k, v], j) => {
        const px = x(k), py = y(v);
        threads[j].setAttribute("d", `M${px} ${py}C${(px + cx) / 2} ${py} ${(px + cx) / 2} ${cy} ${cx} ${cy}`);
        threads[j].style.strokeWidth = Math.min(thickest, w[j] * 40).toFixed(2);
        threads[j].style.opacity = Math.min(1, 0.25 + 3 * w[j]).toFixed(2);
        threads[j].style.display = w[j] < 0.002 ? "none" : "";
      });
      query.setAttribute("x", cx);
      query.setAttribute("text-anchor", state.query < 0.5 ? "start" : state.query > 4.5 ? "end" : "middle");
      asking.setAttribute("x1", cx);
      asking.setAttribute("x2", cx);
      dot.setAttribute("cx", cx);
      dot.setAttribute("cy", cy);
      const largest = Math.max(...w), nearest = data.points[w.indexOf(largest)];
      const text = `Query ${number(state.query, 2)}: the answer is ${number(c, 2)}; the key ${number(nearest[0], 2)} has the largest weight, ${number(largest, 2)}`;
      regression_weights.setAttribute("aria-valuenow", state.query.toFixed(2));
      regression_weights.setAttribute("aria-valuetext", text);
      place.dataset.answer = c.toFixed(6);
      says.textContent = text + ".";
      sigmaSays.textContent = number(state.sigma, 2);
    }

    const ask = (value) => { state.query = Math.min(5, Math.max(0, value)); draw(); };
    const from = (event) => {
      const box = svg.getBoundingClientRect();
      return (((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width - left) / (right - left) * 5;
    };
    point(regression_weights, (event) => ask(from(event)), () => {
      const before = state.query;
      return () => ask(before);
    }, { hovers: true });
    regression_weights.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 0.1, ArrowUp: 0.1, ArrowLeft: -0.1, ArrowDown: -0.1, PageUp: 1, PageDown: -1, Home: -9, End: 9 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      ask(Math.round((state.query + step) * 10) / 10);
    });
    const widen = () => {
      state.sigma = Number(sigma.value) / 100;
      answers.setAttribute("d", line((v) => answer(weights(v))));
      draw();
    };
    sigma.addEventListener("input", widen);
    widen();
  }
})();
