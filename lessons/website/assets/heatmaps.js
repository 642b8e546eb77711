// Interactive heatmaps: point at a row or move with the arrow keys, and the page shows the largest weights of the row.
window.Heatmaps = (function () {
  const shades = 20;
  const number = (cell) => Number(cell.dataset.v);
  const written = (value) => value.toFixed(2).replace("-", "−");

  function answer(figure) {
    const rows = [...figure.querySelectorAll("tbody tr")];
    const columns = [...figure.querySelectorAll("thead tr > *")].slice(1).map((cell) => cell.textContent);
    const says = figure.querySelector(".says");
    const named = columns.some(Boolean) && !figure.classList.contains("dense");
    if (!named || !rows.length) return;

    // The columns again as a sentence, whose words are shaded by the selected row.
    const sentence = document.createElement("p");
    sentence.className = "sentence";
    sentence.setAttribute("aria-hidden", "true");
    columns.forEach((name) => {
      const word = document.createElement("span");
      word.textContent = name || " ";
      sentence.append(word, " ");
    });
    figure.querySelector(".scroll").before(sentence);

    const label = (row) => row.querySelector("th").firstElementChild.innerHTML.trim();  // can contain a subscript
    function light(row) {
      for (const other of rows) other.classList.toggle("lit", other === row);
      const cells = [...row.children].slice(1);
      const top = cells.filter((cell) => cell.dataset.v !== undefined)
        .map((cell) => ({ value: number(cell), name: columns[cells.indexOf(cell)] }))
        .sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 3);
      says.innerHTML = label(row);
      says.append(": " + top.map((t) => `${t.name} ${written(t.value)}`).join(", "));
      sentence.querySelectorAll("span").forEach((word, i) => {
        word.className = cells[i] && cells[i].dataset.v !== undefined ? cells[i].className : "gap";
      });
    }
    const header = (row) => row.querySelector("th");
    rows.forEach((row, i) => {
      header(row).tabIndex = i === 0 ? 0 : -1;
      row.addEventListener("pointerenter", () => light(row));
      header(row).addEventListener("focus", () => light(row));
      header(row).addEventListener("click", () => header(row).focus());
      header(row).addEventListener("keydown", (event) => {
        const next = { ArrowDown: rows[i + 1], ArrowUp: rows[i - 1], Home: rows[0], End: rows[rows.length - 1] }[event.key];
        if (!next) return;
        event.preventDefault();
        header(row).tabIndex = -1;
        header(next).tabIndex = 0;
        header(next).focus();
      });
    });
    light(rows[0]);
    figure.addEventListener("redrawn", () => light(rows.find((row) => row.classList.contains("lit"))));  // another map
  }

  function make(parent, tag, attributes, text) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  /// Draws a map from a running lesson, in the form in which figures.py draws recorded maps.
  function draw(parent, name, map) {
    const dense = map.rows.length * map.columns.length > 1200 || map.columns.length > 40, numbers = map.numbers && !dense;
    const kind = dense ? "dense" : numbers || (map.columns.length <= 16 && map.rows.length <= 12) ? "words" : "small";
    const letter = map.signed ? "s" : "h";
    const shade = (value) => `${letter}${Math.round(Math.min(Math.max((value - map.least) / (map.most - map.least || 1), 0), 1) * shades)}`;
    const figure = make(parent, "figure", { class: `map ${kind}${numbers ? "" : " plain"}`, "data-picture": name });
    make(figure, "figcaption", {}, map.title);
    const axes = [["rows", map.row_axis], ["columns", map.column_axis]].filter(([, axis]) => axis).map((pair) => pair.join(": "));
    if (axes.length) make(figure, "p", { class: "axes" }, axes.join(", "));
    const table = make(make(figure, "div", { class: "scroll", tabindex: "0", role: "group", "aria-label": map.title }), "table", { "aria-label": map.title });
    const head = make(make(table, "thead"), "tr"), body = make(table, "tbody");
    make(head, "td");
    map.columns.forEach((label) => { if (label) make(make(head, "th", { scope: "col" }), "span", {}, label); else make(head, "td"); });
    map.rows.forEach((label, r) => {
      const row = make(body, "tr");
      make(make(row, "th", { scope: "row" }), "span", {}, label || "\u00a0");
      map.values[r].forEach((value) => {
        if (value === null) make(row, "td", { class: "gap" });
        else make(row, "td", { class: shade(value), "data-v": value }, numbers ? written(value).replace(/^(−?)0\./, "$1.") : "");
      });
    });
    const scale = make(figure, "p", { class: "scale", "aria-hidden": "true" }, `${map.least} `.replace("-", "−"));
    const strip = make(scale, "span");
    for (let i = 0; i <= shades; i += 2) make(strip, "i", { class: `${letter}${i}` });
    scale.append(` ${map.most}`);
    make(figure, "p", { class: "says", "aria-live": "polite" });
    answer(figure);
    return figure;
  }

  document.querySelectorAll("figure.map").forEach(answer);
  return { draw };
})();
