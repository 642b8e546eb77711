// Maps of which one is picked: a slider for what grows (steps of training), buttons for what does not (layers, heads).
(function () {
  const { choice: pick, slider } = window.Drawing, shades = 20;

  for (const place of document.querySelectorAll(".series")) {
    const { choices, maps } = JSON.parse(place.querySelector('script[type="application/json"]').textContent);
    const figure = place.querySelector("figure.map"), picks = place.querySelector(".picks");
    const cells = [...figure.querySelectorAll("td[data-v]")];
    const picked = choices.map((choice) => (choice.grows ? choice.of.length - 1 : 0));

    function show() {
      const at = picked.reduce((sum, which, c) => sum * choices[c].of.length + which, 0);
      cells.forEach((cell, i) => {
        const value = maps[at][i] / 100;
        cell.dataset.v = value;
        cell.className = `h${Math.round(Math.min(Math.max(value, 0), 1) * shades)}`;
      });
      figure.dispatchEvent(new Event("redrawn"));
    }
    const rows = figure.querySelectorAll("tbody tr");
    rows[rows.length - 1].dispatchEvent(new Event("pointerenter"));  // the last row has most to look at
    const capital = (name) => name[0].toUpperCase() + name.slice(1);

    choices.forEach((choice, c) => {
      if (choice.grows) {
        const { input, says } = slider(picks, capital(choice.name), 0, choice.of.length - 1, 1, picked[c], (which) => {
          picked[c] = which;
          tell();
          show();
        });
        const tell = () => {
          says.textContent = choice.of[picked[c]];
          input.setAttribute("aria-valuetext", `${choice.name} ${choice.of[picked[c]]}`);
        };
        tell();
        return;
      }
      pick(picks, capital(choice.name), `${place.id}-${c}`, choice.of, picked[c], (which) => { picked[c] = which; show(); });
    });
  }
})();
