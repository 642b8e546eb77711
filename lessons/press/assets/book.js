// What every page does: the choice of light or dark, and keys that lead along the course.
(function () {
  const root = document.documentElement;
  const button = document.getElementById("scheme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.scheme ? root.dataset.scheme === "dark" : dark.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.scheme = isDark() ? "light" : "dark";
    try { localStorage.setItem("scheme", root.dataset.scheme); } catch (error) { /* not kept, then */ }
    show();
  });
  dark.addEventListener("change", show);
  show();

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [role=slider], [role=listbox], .scroll, pre");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });

  // A part that a link points into is shown, folded or covered as it may be.
  function open() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
  }
  addEventListener("hashchange", open);
  open();
})();
