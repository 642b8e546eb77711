// Lesson 07's masks, painted by hand: the pairs that may attend, and the softmax weights of each row.
(function () {
  const { html, number, plays } = window.Drawing;
  const scores = [1, 0, 3, 1, 0, 3];  // the three scores of the lesson's example, twice

  for (const { place, data } of plays("paint")) {
    const n = scores.length, see = place.querySelector(".see");
    const state = { mask: [], row: 0, painting: null };
    const presets = html(place, "p", { class: "control presets", role: "group", "aria-label": "Masks of the lesson" });
    const box = html(place, "div", { class: "paint" });
    const table = (caption) => {
      const element = html(box, "table", {});
      html(element, "caption", {}, caption);
      const head = html(html(element, "thead"), "tr");
      html(head, "td");
      scores.forEach((score, j) => html(head, "th", { scope: "col" }, `k${j + 1}`));
      return html(element, "tbody");
    };
    const masks = table("May attend"), weights = table("Weights");
    const rows = scores.map((_, i) => {
      const left = html(masks, "tr"), right = html(weights, "tr");
      html(left, "th", { scope: "row" }, `q${i + 1}`);
      html(right, "th", { scope: "row" }, `q${i + 1}`);
      const buttons = scores.map((_, j) => {
        const button = html(html(left, "td"), "button", { type: "button", "aria-label": `query ${i + 1} may attend to key ${j + 1}` });
        button.tabIndex = i || j ? -1 : 0;
        return button;
      });
      return { right, buttons, cells: scores.map(() => html(right, "td")) };
    });
    const says = html(place, "p", { class: "paint-says", "aria-live": "polite" });
    place.append(see);

    // The lesson's formula, row by row; a row without any key has weights of 0.
    function softmax(seen) {
      const most = Math.max(...scores.filter((_, j) => seen[j]));
      const powers = scores.map((score, j) => (seen[j] ? Math.exp(score - most) : 0));
      const sum = powers.reduce((a, b) => a + b, 0);
      return powers.map((power) => (sum ? power / sum : 0));
    }
    function draw() {
      const all = state.mask.map(softmax);
      rows.forEach(({ right, buttons, cells }, i) => {
        right.classList.toggle("lit", i === state.row);
        buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(state.mask[i][j])));
        cells.forEach((cell, j) => {
          cell.textContent = state.mask[i][j] ? number(all[i][j], 2).replace(/^0/, "") : "";
          cell.className = `h${Math.round(all[i][j] * 20)}`;
        });
      });
      const seen = scores.map((_, j) => j).filter((j) => state.mask[state.row][j]);
      says.textContent = `Query ${state.row + 1} ` + (seen.length === 1
        ? `attends only to key ${seen[0] + 1}: weight 1.`
        : seen.length ? `attends to keys ${seen.map((j) => j + 1).join(", ")} with scores ${seen.map((j) => scores[j]).join(", ")}: weights ${seen.map((j) => number(all[state.row][j], 3)).join(", ")}.`
        : "attends to no key: all its weights are 0.");
      place.dataset.weights = JSON.stringify(all);
    }
    const set = (i, j, value) => { state.mask[i][j] = value; state.row = i; draw(); };
    rows.forEach(({ buttons }, i) => buttons.forEach((button, j) => {
      let painted = false;  // set by the mouse; its click event follows
      button.addEventListener("pointerdown", (event) => {
        if (event.pointerType !== "mouse" || event.button) return;
        painted = true;
        state.painting = !state.mask[i][j];
        set(i, j, state.painting);
      });
      button.addEventListener("pointerenter", (event) => { if (event.buttons === 1 && state.painting !== null) set(i, j, state.painting); });
      button.addEventListener("click", () => { if (!painted) set(i, j, !state.mask[i][j]); painted = false; });
      button.addEventListener("focus", () => {
        for (const row of rows) for (const other of row.buttons) other.tabIndex = other === button ? 0 : -1;
        state.row = i;
        draw();
      });
      button.addEventListener("keydown", (event) => {
        const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] || [0, 0];
        if (!down && !right) return;
        event.preventDefault();
        rows[Math.min(n - 1, Math.max(0, i + down))].buttons[Math.min(n - 1, Math.max(0, j + right))].focus();
      });
    }));
    addEventListener("pointerup", () => { state.painting = null; });
    for (const [name, mask] of data.masks) {
      const button = html(presets, "button", { type: "button", class: "quiet" }, name);
      button.addEventListener("click", () => { state.mask = mask.map((row) => row.map(Boolean)); draw(); });
    }
    state.mask = data.masks[1][1].map((row) => row.map(Boolean));
    draw();
  }
})();
