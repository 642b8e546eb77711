// Lesson 05's attention: a question among measured points, with a thread to each that is as thick as its weight.
(function () {
  const { make, number, softmax, plays } = window.Drawing;
  const left = 18, right = 542, top = 26;

  for (const { place, data } of plays("loom")) {
    if (!data.points) continue;
    const loom = place.querySelector(".loom"), svg = loom.querySelector("svg");
    const sigma = place.querySelector(".sigma"), sigmaSays = place.querySelector(".sigma-says");
    const says = place.querySelector(".loom-says");
    const bottom = svg.viewBox.baseVal.height - 34;
    const most = 6.2, least = -0.6;
    const x = (value) => left + (value / 5) * (right - left);
    const y = (value) => bottom - ((value - least) / (most - least)) * (bottom - top);
    const state = { query: 2, sigma: Number(sigma.value) / 100 };

    const weights = (query) => softmax(data.points.map(([k]) => -((query - k) ** 2) / (2 * state.sigma ** 2)));
    const answer = (w) => w.reduce((sum, weight, j) => sum + weight * data.points[j][1], 0);
    const line = (f) => Array.from({ length: 101 }, (_, i) => `${i ? "L" : "M"}${x(i / 20).toFixed(1)} ${y(f(i / 20)).toFixed(1)}`).join("");

    make(svg, "path", { class: "curve", d: line((v) => 2 * Math.sin(v) + v) });
    const answers = make(svg, "path", { class: "answers" });
    const asking = make(svg, "line", { class: "asking", y1: top - 8, y2: bottom });
    const threads = data.points.map(() => make(svg, "path", { class: "thread" }));
    for (const [k, v] of data.points) make(svg, "circle", { class: "key", cx: x(k), cy: y(v), r: 3.2 });
    const dot = make(svg, "circle", { class: "asks", r: 8 });
    for (let k = 0; k <= 5; ++k) make(svg, "text", { x: x(k), y: bottom + 22, "text-anchor": "middle" }, String(k));

    function draw() {
      const w = weights(state.query), c = answer(w);
      const cx = x(state.query), cy = y(c);
      data.points.forEach(([k, v], j) => {
        const px = x(k), py = y(v);
        threads[j].setAttribute("d", `M${px} ${py}C${(px + cx) / 2} ${py} ${(px + cx) / 2} ${cy} ${cx} ${cy}`);
        threads[j].style.strokeWidth = (w[j] * 40).toFixed(2);
        threads[j].style.opacity = Math.min(1, 0.25 + 3 * w[j]).toFixed(2);
        threads[j].style.display = w[j] < 0.002 ? "none" : "";
      });
      answers.setAttribute("d", line((v) => answer(weights(v))));
      asking.setAttribute("x1", cx);
      asking.setAttribute("x2", cx);
      dot.setAttribute("cx", cx);
      dot.setAttribute("cy", cy);
      const largest = Math.max(...w), nearest = data.points[w.indexOf(largest)];
      const text = `x = ${number(state.query, 2)}: the answer is ${number(c, 2)}; the largest weight, ${number(largest, 2)}, is that of the point at ${number(nearest[0], 2)}`;
      loom.setAttribute("aria-valuenow", state.query.toFixed(2));
      loom.setAttribute("aria-valuetext", text);
      place.dataset.answer = c.toFixed(6);
      says.textContent = text + ".";
      sigmaSays.textContent = number(state.sigma, 2);
    }

    const ask = (value) => { state.query = Math.min(5, Math.max(0, value)); draw(); };
    const from = (event) => {
      const box = svg.getBoundingClientRect();
      return (((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width - left) / (right - left) * 5;
    };
    loom.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" || event.buttons) ask(from(event)); });
    loom.addEventListener("pointerdown", (event) => ask(from(event)));
    loom.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 0.1, ArrowUp: 0.1, ArrowLeft: -0.1, ArrowDown: -0.1, PageUp: 1, PageDown: -1, Home: -9, End: 9 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      ask(Math.round((state.query + step) * 10) / 10);
    });
    sigma.addEventListener("input", () => { state.sigma = Number(sigma.value) / 100; draw(); });
    draw();
  }
})();
