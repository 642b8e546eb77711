// Lesson 01's tape, line by line: the forward pass fills in values, the backward pass adds gradients to inputs.
(function () {
  const { html, number, slider, steps, plays } = window.Drawing;
  const plain = (value) => number(value, 0);

  for (const { place, data } of plays("tape")) {
    const lines = data.lines, last = lines.length - 1, all = 2 * lines.length;
    const see = place.querySelector(".see");
    const box = html(place, "div", { class: "wide", tabindex: 0, role: "group", "aria-label": "The tape" });
    const table = html(box, "table", { class: "tape" });
    const head = html(html(table, "thead"), "tr");
    for (const name of ["line", "op", "value", "inputs (local derivatives)", "gradient"]) html(head, "th", { scope: "col" }, name);
    const body = html(table, "tbody");
    const rows = lines.map(([op, , , inputs], i) => {
      const row = html(body, "tr");
      html(row, "th", { scope: "row" }, String(i));
      html(row, "td", {}, op);
      const value = html(row, "td");
      html(row, "td", {}, inputs.map(([input, local]) => `${input} (${plain(local)})`).join(", "));
      const gradient = html(row, "td");
      return { row, value, gradient };
    });
    const says = html(place, "p", { class: "tape-says", "aria-live": "polite" });
    const control = slider(place, "Step", 0, all, 1, 0, draw);
    steps(place, control, draw);
    place.append(see);

    // The gradients after this number of backward steps: the last line has 1, and each visited line has added to its inputs.
    function gradients(steps) {
      const found = lines.map(() => 0);
      if (steps > 0) found[last] = 1;
      for (let i = last; i > last - steps; --i)
        for (const [input, local] of lines[i][3]) found[input] += found[i] * local;
      return found;
    }

    function draw(step) {
      const forward = Math.min(step, lines.length), back = step - forward;
      const found = gradients(back);
      const here = back ? lines.length - back : forward - 1;
      rows.forEach(({ row, value, gradient }, i) => {
        value.textContent = i < forward ? plain(lines[i][1]) : "";
        gradient.textContent = back && found[i] ? plain(found[i]) : "";
        row.classList.toggle("here", i === here);
        row.classList.toggle("fed", back > 0 && lines[here][3].some(([input]) => input === i));
      });
      control.says.textContent = `${step} of ${all}`;
      const [op, value, , inputs] = lines[Math.max(here, 0)];
      says.textContent = step === 0 ? "Nothing has run yet."
        : !back ? (inputs.length ? `Line ${here} runs: ${op} returns ${plain(value)}.` : `Line ${here} is a leaf: ${op} = ${plain(value)}.`)
        : inputs.length ? `Line ${here} has the gradient ${plain(found[here])} and adds ` + inputs.map(([input, local]) => `${plain(found[here])}·${plain(local)} to line ${input}`).join(", ") + "."
        : `Line ${here} is a leaf: its gradient is ${plain(found[here])}.`;
      place.dataset.gradients = JSON.stringify(found);
    }
    draw(0);
  }
})();
