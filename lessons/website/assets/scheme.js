// Applies the reader's choice of light or dark colours before the page is painted.
(function () {
  try {
    const chosen = localStorage.getItem("scheme");
    if (chosen) document.documentElement.dataset.scheme = chosen;
  } catch (error) { /* a page from a file may have no storage */ }
  document.documentElement.classList.add("live");
})();
