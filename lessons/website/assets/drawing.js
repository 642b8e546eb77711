// What the pictures that answer share: their data, SVG elements, and numbers as the lessons write them.
window.Drawing = (function () {
  const NS = "http://www.w3.org/2000/svg";

  function make(parent, tag, attributes, text) {
    const element = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  const html = (parent, tag, attributes, text) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };

  const number = (value, digits) => value.toFixed(digits).replace("-", "−");

  const softmax = (scores) => {
    const most = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / sum);
  };

  // Numbers by chance that are the same at every visit: standard normal.
  function normal(seed) {
    let state = seed >>> 0;
    const uniform = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  }

  // A pointer on a picture asks. A mouse does so at once, or, with `hovers`, wherever it is; a finger when it is lifted or,
  // with `drags`, on its way along. A swipe that scrolls the page, which the browser takes over, leaves what was before:
  // keep() gives a function that brings it back.
  function point(place, ask, keep, { hovers = false, drags = true } = {}) {
    let back = () => {};
    const mouse = (event) => event.pointerType === "mouse";
    place.addEventListener("pointerdown", (event) => { back = keep(); if (mouse(event)) ask(event); });
    place.addEventListener("pointermove", (event) => { if (mouse(event) ? hovers || event.buttons : drags && event.buttons) ask(event); });
    place.addEventListener("pointerup", (event) => { if (!mouse(event)) ask(event); });
    place.addEventListener("pointercancel", () => back());
  }

  // A slider with its name and its number.
  function slider(parent, name, least, most, step, value, onInput) {
    const line = html(parent, "p", { class: "control" });
    const label = html(line, "label", {}, name + " ");
    const input = html(label, "input", { type: "range", min: least, max: most, step, value });
    const says = html(line, "output", {});
    input.addEventListener("input", () => onInput(Number(input.value)));
    return { input, says };
  }

  // Buttons that move a slider by one, back and on; says where they stand, for more of them.
  function steps(parent, { input }, onStep) {
    const line = html(parent, "p", { class: "control" });
    for (const [name, by] of [["Back", -1], ["On", 1]])
      html(line, "button", { type: "button", class: "quiet" }, name).addEventListener("click", () => {
        input.value = String(Number(input.value) + by);
        onStep(Number(input.value));
      });
    return line;
  }

  // A group of buttons of which one is chosen: onChoice gets its place.
  function choice(parent, legend, name, options, chosen, onChoice) {
    const group = html(parent, "fieldset", { class: "choice" });
    html(group, "legend", {}, legend);
    options.forEach((option, i) => {
      const label = html(group, "label");
      const input = html(label, "input", { type: "radio", name, value: i });
      input.checked = i === chosen;
      label.append(" " + option);
      input.addEventListener("change", () => onChoice(i));
    });
  }

  // Bars of percents, each with its name; the answer sets one of them, and may light it.
  function bars(parent, caption, names) {
    const table = html(parent, "table", { class: "bars" });
    html(table, "caption", {}, caption);
    const rows = names.map((name) => {
      const row = html(table, "tr");
      html(row, "th", { scope: "row" }, name);
      const bar = html(html(row, "td", { class: "track" }), "span");
      return { row, bar, says: html(row, "td") };
    });
    return (i, percent, lit = false) => {
      rows[i].bar.style.width = `${percent}%`;
      rows[i].says.textContent = `${number(percent, percent > 0 && percent < 10 ? 1 : 0)} %`;
      rows[i].row.classList.toggle("lit", lit);
    };
  }

  const plays = (kind) => [...document.querySelectorAll(`[data-play="${kind}"]`)].map((place) => ({
    place, data: JSON.parse(place.querySelector('script[type="application/json"]').textContent || "{}"),
  }));

  return { make, html, number, softmax, normal, point, slider, steps, choice, bars, plays };
})();
