// Lesson 10's strings: the accuracy by string length, for whole strings at four code widths and for single letters.
(function () {
  const { html, number, slider, bars, plays } = window.Drawing;

  for (const { place, data } of plays("lengths")) {
    const see = place.querySelector(".see");
    const lengths = data.strings[0][1].map(([length]) => length);
    const control = slider(place, "Letters in the string", lengths[0], lengths[lengths.length - 1], 1, 8, draw);
    const strings = bars(place, "Whole strings right", data.strings.map(([name]) => name));
    const letters = bars(place, "Letters right, hidden 64", data.letters.map(([name]) => name.replace("letters, ", "")));
    const says = html(place, "p", { class: "bars-says", "aria-live": "polite" });
    place.append(see);

    function draw(length) {
      const of = (curves) => curves.map(([, dots]) => dots.find(([x]) => x === length)[1]);
      const [whole, single] = [of(data.strings), of(data.letters)];
      whole.forEach((percent, i) => strings(i, percent));
      single.forEach((percent, i) => letters(i, percent));
      control.says.textContent = String(length);
      control.input.setAttribute("aria-valuetext", `${length} letters`);
      const half = data.strings.filter((_, i) => whole[i] >= 50).map(([name]) => name);
      says.textContent = `${length} letters: ` + (half.length === data.strings.length ? "with every code, at least half of the strings are right."
        : half.length ? `at least half of the strings are right with ${half.join(", ")}.`
        : `with no code, half of the strings are right; with the widest code, ${number(whole[whole.length - 1], 1)} % are.`);
      place.dataset.counted = JSON.stringify([whole, single]);
    }
    draw(8);
  }
})();
