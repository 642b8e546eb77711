// Maps of which one is picked: a slider for what grows (steps of training), buttons for what does not (layers, heads).
(function () {
  const shades = 20;

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
    const add = (parent, tag, attributes, text) => {
      const element = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (text) element.textContent = text;
      parent.append(element);
      return element;
    };
    const capital = (name) => name[0].toUpperCase() + name.slice(1);

    choices.forEach((choice, c) => {
      if (choice.grows) {
        const line = add(picks, "p", { class: "control" });
        const label = add(line, "label", {}, capital(choice.name) + " ");
        const input = add(label, "input", { type: "range", min: 0, max: choice.of.length - 1, step: 1 });
        input.value = picked[c];
        const says = add(line, "output", {});
        const tell = () => {
          says.textContent = choice.of[picked[c]];
          input.setAttribute("aria-valuetext", `${choice.name} ${choice.of[picked[c]]}`);
        };
        input.addEventListener("input", () => { picked[c] = Number(input.value); tell(); show(); });
        tell();
        return;
      }
      const group = add(picks, "fieldset", { class: "choice" });
      add(group, "legend", {}, capital(choice.name));
      choice.of.forEach((name, which) => {
        const label = add(group, "label", {});
        const input = add(label, "input", { type: "radio", name: `${place.id}-${c}`, value: which });
        input.checked = which === picked[c];
        label.append(" " + name);
        input.addEventListener("change", () => { picked[c] = which; show(); });
      });
    });
  }
})();
