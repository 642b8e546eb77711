// Lesson 12's scores: the map of the picked score, and the accuracy of all scores at the list length on the slider.
(function () {
  const { html, number, slider, choice, bars, plays } = window.Drawing;

  for (const { place, data } of plays("score_maps")) {
    const see = place.querySelector(".see"), names = data.scores.map(([name]) => name);
    const state = { picked: 0, pairs: 8 };
    choice(place, "Score", `${place.id}-score`, names, 0, (picked) => { state.picked = picked; draw(); });
    const maps = html(place, "div", { class: "maps" });
    const figures = data.scores.map(([, file]) => document.getElementById(`figure-${file}`));
    maps.append(...figures);
    const all = data.scores[0][2].map(([pairs]) => pairs);
    const control = slider(place, "Pairs in the list", all[0], all[all.length - 1], all[1] - all[0], state.pairs, (pairs) => { state.pairs = pairs; draw(); });
    const right = bars(place, "Right answers", names);
    const says = html(place, "p", { class: "bars-says", "aria-live": "polite" });
    place.append(see);

    function draw() {
      const counted = data.scores.map(([, , dots]) => dots.find(([pairs]) => pairs === state.pairs)[1]);
      figures.forEach((figure, i) => { figure.hidden = i !== state.picked; });
      counted.forEach((percent, i) => right(i, percent, i === state.picked));
      control.says.textContent = String(state.pairs);
      control.input.setAttribute("aria-valuetext", `${state.pairs} pairs`);
      says.textContent = `${names[state.picked]}: ${number(counted[state.picked], 0)} % of the answers are right in lists of ${state.pairs} pairs. The map shows one list of 6 pairs.`;
      place.dataset.counted = JSON.stringify(counted);
    }
    draw();
  }
})();
