// Lesson 17's position vectors as hands of clocks, and the dot products of one place with all places.
(function () {
  const { make, html, number, slider, point, plays } = window.Drawing;

  for (const { place, data } of plays("rotary_clocks")) {
    const see = place.querySelector(".see"), { places: n, hands } = data;
    const speed = Array.from({ length: hands }, (_, i) => 10000 ** (-i / hands));
    const state = { here: 12, other: 15 };
    const side = 8, unit = 70, radius = 28;
    const clocks = make(html(place, "div", { class: "clocks" }), "svg", { viewBox: `0 0 ${side * unit} ${Math.ceil(hands / side) * unit}`, role: "img",
      "aria-label": `${hands} hands of the two places, fast to slow` });
    const pointers = speed.map((_, i) => {
      const x = (i % side + 0.5) * unit, y = (Math.floor(i / side) + 0.5) * unit;
      make(clocks, "circle", { class: "clock", cx: x, cy: y, r: radius });
      return ["other-hand", "hand"].map((name) => make(clocks, "line", { class: name, x1: x, y1: y }));
    });
    const step = 560 / n, ground = 150, tall = 140;
    const box = html(place, "div", { class: "products" });
    const svg = make(box, "svg", { viewBox: "0 0 560 176", role: "img", "aria-label": "Dot product of the place with each place" });
    make(svg, "path", { class: "axis", d: `M0 ${ground}H560` });
    const bars = Array.from({ length: n }, (_, q) => make(svg, "rect", { x: q * step + 1.5, width: step - 3 }));
    for (let q = 0; q < n; q += 5) make(svg, "text", { x: (q + 0.5) * step, y: 171, "text-anchor": "middle" }, q);
    const says = html(place, "p", { class: "bars-says", "aria-live": "polite" });
    const controls = [["Place", "here"], ["Compared with", "other"]].map(([name, key]) =>
      slider(place, name, 0, n - 1, 1, state[key], (value) => { state[key] = value; draw(); }));
    place.append(see);

    // PE[p] · PE[q]: a sine and a cosine for each hand.
    const product = (p, q) => speed.reduce((sum, w) => sum + Math.sin(p * w) * Math.sin(q * w) + Math.cos(p * w) * Math.cos(q * w), 0);
    function draw() {
      const { here, other } = state;
      pointers.forEach((pair, i) => pair.forEach((line, which) => {
        const angle = (which ? here : other) * speed[i];
        line.setAttribute("x2", Number(line.getAttribute("x1")) + radius * Math.cos(angle));
        line.setAttribute("y2", Number(line.getAttribute("y1")) - radius * Math.sin(angle));
      }));
      const products = bars.map((_, q) => product(here, q));
      bars.forEach((bar, q) => {
        const height = (products[q] / hands) * tall;  // no product is below 0 at such distances
        bar.setAttribute("height", height);
        bar.setAttribute("y", ground - height);
        bar.setAttribute("class", q === here ? "bar-here" : q === other ? "bar-other" : "bar-weight");
      });
      controls.forEach(({ input, says: out }, c) => { out.textContent = input.value = String(c ? other : here); });
      says.textContent = `PE[${here}] · PE[${other}] = ${number(products[other], 2)}, where ${hands} is the maximum. All places that are ${Math.abs(here - other)} apart have this product.`;
      place.dataset.sines = JSON.stringify(speed.map((w) => Math.sin(here * w)));
      place.dataset.products = JSON.stringify(products);
    }
    const ask = (event) => {
      const rect = svg.getBoundingClientRect();
      state.other = Math.min(n - 1, Math.max(0, Math.floor(((event.clientX - rect.left) / rect.width) * n)));
      draw();
    };
    point(svg, ask, () => {
      const before = state.other;
      return () => { state.other = before; draw(); };
    }, { hovers: true });
    draw();
  }
})();
