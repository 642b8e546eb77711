// The map of the course: a thread from each lesson to the lessons that build on it.
(function () {
  const map = document.querySelector(".map-of-course"), arcs = map.querySelector(".arcs");
  const items = [...map.querySelectorAll("li")];
  const by = new Map(items.map((item) => [item.dataset.number, item]));
  const needs = (item) => item.dataset.needs.split(" ").filter((number) => by.has(number));

  function place() {
    const box = map.getBoundingClientRect(), width = arcs.getBoundingClientRect().width;
    const middle = (item) => { const r = item.getBoundingClientRect(); return r.top + Math.min(r.height / 2, 16) - box.top; };
    const longest = Math.max(...items.flatMap((item) => needs(item).map((n) => middle(item) - middle(by.get(n)))));
    arcs.replaceChildren();
    for (const item of items) for (const number of needs(item)) {
      const from = middle(by.get(number)), to = middle(item);
      const bend = 8 + (width - 12) * Math.sqrt((to - from) / longest);
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${width - 2} ${from}C${width - bend * 1.3} ${from} ${width - bend * 1.3} ${to} ${width - 2} ${to}`);
      path.dataset.from = number;
      path.dataset.to = item.dataset.number;
      arcs.append(path);
    }
  }
  function light(item) {
    const here = item && item.dataset.number;
    for (const path of arcs.children) path.classList.toggle("lit", here === path.dataset.to || here === path.dataset.from);
    for (const other of items) other.classList.toggle("pointed", other === item);
    for (const other of items) other.classList.toggle("lit", Boolean(item) && needs(item).includes(other.dataset.number));
  }
  for (const item of items) {
    item.addEventListener("pointerenter", () => light(item));
    item.addEventListener("pointerleave", () => light(null));
    item.addEventListener("focusin", () => light(item));
    item.addEventListener("focusout", () => light(null));
  }
  new ResizeObserver(place).observe(map);
  place();
})();
