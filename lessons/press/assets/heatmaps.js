// A heatmap's rows answer: point at one, or step through them with the arrow keys, and it says where it looks.
(function () {
  const number = (cell) => Number(cell.dataset.v);
  const written = (value) => value.toFixed(2).replace("-", "−");

  for (const figure of document.querySelectorAll("figure.map")) {
    const rows = [...figure.querySelectorAll("tbody tr")];
    const columns = [...figure.querySelectorAll("thead tr > *")].slice(1).map((cell) => cell.textContent);
    const says = figure.querySelector(".says");
    const named = columns.some(Boolean) && !figure.classList.contains("dense");
    if (!named || !rows.length) continue;

    // The columns once more, as a sentence whose words are shaded by the row that is looked at.
    const sentence = document.createElement("p");
    sentence.className = "sentence";
    sentence.setAttribute("aria-hidden", "true");
    columns.forEach((name) => {
      const word = document.createElement("span");
      word.textContent = name || " ";
      sentence.append(word, " ");
    });
    figure.querySelector(".scroll").before(sentence);

    const label = (row) => row.querySelector("th").textContent.trim();
    function light(row) {
      for (const other of rows) other.classList.toggle("lit", other === row);
      const cells = [...row.children].slice(1);
      const top = cells.filter((cell) => cell.dataset.v !== undefined)
        .map((cell) => ({ value: number(cell), name: columns[cells.indexOf(cell)] }))
        .sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 3);
      says.textContent = `${label(row)}: ` + top.map((t) => `${t.name} ${written(t.value)}`).join(", ");
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
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const next = rows[i + step];
        if (!step || !next) return;
        event.preventDefault();
        header(row).tabIndex = -1;
        header(next).tabIndex = 0;
        header(next).focus();
      });
    });
    light(rows[0]);
    figure.addEventListener("redrawn", () => light(rows.find((row) => row.classList.contains("lit"))));  // another map
  }
})();
