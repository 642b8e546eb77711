// Light or dark: what the reader chose, before anything is painted.
(function () {
  try {
    const chosen = localStorage.getItem("scheme");
    if (chosen) document.documentElement.dataset.scheme = chosen;
  } catch (error) { /* a page from a file may have no storage */ }
  document.documentElement.classList.add("live");
})();
