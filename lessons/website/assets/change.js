// Starts "Change it" at the code of the page. Browsers load no modules for a page from a folder; such a page has no buttons.
(function () {
  if (location.protocol === "file:") return;
  import(new URL("../practise/change.js", document.currentScript.src).href).then(({ ready }) => ready).catch((error) => console.warn(error));
})();
