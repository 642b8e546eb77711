// Helpers of the interactive pictures: data, SVG elements, controls, and numbers in the format of the lessons.
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

  // Standard normal random numbers that are the same at every visit.
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

  // Calls `ask` for a pointer on a picture. A mouse asks at a click or drag, or, with `hovers`, wherever it moves. A finger
  // asks when it is lifted or, with `drags`, while it moves. When the browser takes a swipe over to scroll the page, the
  // picture returns to its earlier state: keep() returns a function that restores it.
  function point(place, ask, keep, { hovers = false, drags = true } = {}) {
    let back = () => {};
    const mouse = (event) => event.pointerType === "mouse";
    place.addEventListener("pointerdown", (event) => { back = keep(); if (mouse(event)) ask(event); });
    place.addEventListener("pointermove", (event) => { if (mouse(event) ? hovers || event.buttons : drags && event.buttons) ask(event); });
    place.addEventListener("pointerup", (event) => { if (!mouse(event)) ask(event); });
    place.addEventListener("pointercancel", () => back());
  }

  // A slider with its name and value.
  function slider(parent, name, least, most, step, value, onInput) {
    const line = html(parent, "p", { class: "control" });
    const label = html(line, "label", {}, name + " ");
    const input = html(label, "input", { type: "range", min: least, max: most, step, value });
    const says = html(line, "output", {});
    input.addEventListener("input", () => onInput(Number(input.value)));
    return { input, says };
  }

  // Buttons that move a slider one step back or forward. Returns their line, for more buttons.
  function steps(parent, { input }, onStep) {
    const line = html(parent, "p", { class: "control" });
    for (const [name, by] of [["Back", -1], ["Next", 1]])
      html(line, "button", { type: "button", class: "quiet" }, name).addEventListener("click", () => {
        input.value = String(Number(input.value) + by);
        onStep(Number(input.value));
      });
    return line;
  }

  // A group of radio buttons: onChoice gets the index of the chosen one.
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

  // Named bars of percentages. Returns a function that sets one bar and can highlight it.
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
