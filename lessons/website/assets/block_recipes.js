// Lesson 19's recipes: the accuracy of blocks without one of their parts, and the gradient of each of eight blocks.
(function () {
  const { make, html, number, choice, bars, plays } = window.Drawing;
  const least = -18, most = 6;  // powers of ten

  for (const { place, data } of plays("block_recipes")) {
    const see = place.querySelector(".see"), names = data.recipes.map(([name]) => name), kinds = Object.keys(data.gradients);
    const state = { recipe: names.findIndex((name) => name.includes("(whole)")), deep: 1 };
    choice(place, "Blocks", `${place.id}-deep`, ["two", "eight"], state.deep, (deep) => { state.deep = deep; draw(); });
    choice(place, "Recipe", `${place.id}-recipe`, names, state.recipe, (recipe) => { state.recipe = recipe; draw(); });
    const right = bars(place, "Right answers", ["once", "twice", "sum"]);
    const says = html(place, "p", { class: "bars-says", "aria-live": "polite" });
    html(place, "p", { class: "chart-name" }, "Gradient of the weights of queries and keys in each block, before training");
    const svg = make(html(place, "div", { class: "fading" }), "svg", { viewBox: "0 0 560 240", role: "img",
      "aria-label": "Gradient by block, one line for each measured recipe" });
    const blocks = data.gradients[kinds[0]].length;
    const x = (block) => 84 + (block * 352) / (blocks - 1), y = (value) => 10 + ((most - Math.log10(value)) * 200) / (most - least);
    for (let power = least; power <= most; power += 6) {
      make(svg, "path", { class: "grid", d: `M76 ${y(10 ** power)}H444` });
      make(svg, "text", { x: 70, y: y(10 ** power) + 4, "text-anchor": "end" }, power ? `1e${number(power, 0)}` : "1");
    }
    for (let block = 0; block < blocks; ++block) make(svg, "text", { x: x(block), y: 232, "text-anchor": "middle" }, block + 1);
    const lines = kinds.map((kind) => {
      const values = data.gradients[kind];
      const line = make(svg, "path", { d: values.map((value, b) => `${b ? "L" : "M"}${x(b)} ${y(value)}`).join("") });
      const text = make(svg, "text", { x: 452, y: y(values[blocks - 1]) + 4 }, kind);
      return [line, text];
    });
    place.append(see);

    // The name of the recipe's gradients: those of "whole, no norm" are called "no norm".
    const measured = (name) => kinds.find((kind) => name.includes("(whole)") ? kind === "whole" : name === `whole, ${kind}`);
    function draw() {
      const [name, two, eight] = data.recipes[state.recipe], [loss, ...shares] = state.deep ? eight : two, kind = measured(name);
      shares.forEach((percent, i) => right(i, percent));
      lines.forEach((pair, k) => pair.forEach((part) => part.setAttribute("class", kinds[k] === kind ? "lit" : "")));
      const gradients = data.gradients[kind];
      says.textContent = `${state.deep ? "Eight" : "Two"} blocks, ${name}: loss ${number(loss, 3)}. ` + (gradients
        ? `With eight blocks, the first block has a gradient of ${written(gradients[0])}, the last block ${written(gradients[blocks - 1])}.` : "The run did not measure gradients of this recipe.");
      place.dataset.counted = JSON.stringify([loss, ...shares]);
    }
    const written = (value) => (value >= 0.001 && value < 1000 ? String(value) : value.toExponential(1).replace("-", "−").replace("+", ""));
    draw();
  }
})();
