// Starts the exercises of the page, or says why they cannot start: browsers load no modules for a page from a folder.
(function () {
  const own = document.currentScript;
  const places = document.querySelectorAll(".try");
  const note = document.querySelector(".transfer");
  const say = (text) => {
    places.forEach((place) => { place.hidden = true; });
    note.textContent = text;
    note.hidden = false;
  };
  if (location.protocol === "file:") {
    say("You can answer the exercises in the page, but not in one that is opened from a folder. On a machine with the project, start lessons/book --serve and open this page from there.");
    return;
  }
  import(new URL(`../practise/${own.dataset.module}.js`, own.src).href).then(({ ready }) => ready)
    .catch(() => say("The editor of the exercises could not be loaded. Reload the page, or use lessons/practise."));
})();
