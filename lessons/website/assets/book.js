// Scripts of every page: light and dark colours, the search key, and faded edges of boxes that scroll sideways.
(function () {
  const root = document.documentElement;
  const button = document.getElementById("scheme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.scheme ? root.dataset.scheme === "dark" : dark.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.scheme = isDark() ? "light" : "dark";
    try { localStorage.setItem("scheme", root.dataset.scheme); } catch (error) { /* not stored */ }
    show();
  });
  dark.addEventListener("change", show);
  show();

  document.addEventListener("keydown", (event) => {
    const [target] = event.composedPath();  // the editor of an exercise is in a shadow tree
    const typing = target.closest("input, textarea, select, [role=textbox], [role=slider], [role=listbox], .scroll, pre");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });

  // Marks the sides on which a box can be scrolled. Fractions of a pixel do not count.
  const wide = ".wide, .scroll, .printed, .compared";
  function edges(box) {
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  }
  const sizes = new ResizeObserver((seen) => new Set(seen.map(({ target }) => target.closest(wide))).forEach((box) => box && edges(box)));
  const watch = (part) => {
    for (const box of [part, ...part.querySelectorAll(wide)].filter((one) => one.matches(wide)))
      for (const one of [box, ...box.children]) sizes.observe(one);
  };
  watch(document.body);
  new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach((node) => { if (node.matches) watch(node); })))
    .observe(document.body, { childList: true, subtree: true });
  document.addEventListener("scroll", ({ target }) => { if (target.matches && target.matches(wide)) edges(target); }, { capture: true, passive: true });

  // Opens the folded parts around the target of a link.
  function open() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
  }
  addEventListener("hashchange", open);
  open();
})();
