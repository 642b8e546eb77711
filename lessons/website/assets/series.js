// Series of maps: a slider for a choice that grows (training steps), buttons for any other (layers, heads).
(function () {
  const { choice: pick, slider } = window.Drawing, shades = 20;

  for (const place of document.querySelectorAll(".series")) {
    const { most, choices, maps, axes } = JSON.parse(place.querySelector('script[type="application/json"]').textContent);
    const figures = [...place.querySelectorAll("figure.map")], picks = place.querySelector(".picks");
    const picked = choices.map((choice) => (choice.grows ? choice.of.length - 1 : 0));

    function show() {
      const at = picked.reduce((sum, which, c) => sum * choices[c].of.length + which, 0);
      const figure = figures[axes === null ? 0 : picked[axes]];  // one table per pair of axes
      figures.forEach((one) => { one.hidden = one !== figure; });
      figure.querySelectorAll("td[data-v]").forEach((cell, i) => {
        const value = maps[at][i] / 100;
        cell.dataset.v = value;
        cell.className = `h${Math.round(Math.min(Math.max(value / most, 0), 1) * shades)}`;
      });
      figure.dispatchEvent(new Event("redrawn"));
    }
    for (const figure of figures)  // select the last row: it has the most keys
      [...figure.querySelectorAll("tbody tr")].at(-1).dispatchEvent(new Event("pointerenter"));
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
    show();
  }
})();
