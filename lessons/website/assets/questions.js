// Questions: the output after a question is hidden until the reader answers the question.
(function () {
  const key = (question) => "answer " + question.dataset.key;
  const kept = (question) => { try { return localStorage.getItem(key(question)); } catch (error) { return null; } };
  const keep = (question, letter) => {
    try { localStorage.setItem(key(question), letter); } catch (error) { /* not stored */ }
  };

  // Consecutive questions uncover the output after the last of them together, once all are answered.
  function coverOf(question) {
    let next = question.nextElementSibling;
    while (next && next.matches(".question, pre.printed, table.pairs")) next = next.nextElementSibling;
    return next && next.matches(".after") ? next : null;
  }

  function conceal(cover) {
    if (!cover || cover.classList.contains("covered")) return;
    cover.classList.add("covered");
    const note = document.createElement("p"), pictures = cover.querySelector("figure, .play");
    note.className = "hides";
    note.textContent = pictures ? "Output and pictures appear here when you have answered, so that you can predict them first."
      : "Output appears here when you have answered, so that you can predict it first.";
    cover.after(note);
  }

  function uncover(cover) {
    const open = document.querySelectorAll(".question:not([data-said])");
    if (!cover || [...open].some((question) => coverOf(question) === cover)) return;
    cover.classList.remove("covered");
    const note = cover.nextElementSibling;
    if (note && note.matches(".hides")) note.remove();
  }

  function tell(question, letter, fresh) {
    const right = question.dataset.right;
    question.dataset.said = letter;
    for (const button of question.querySelectorAll("[data-letter]")) {
      button.classList.toggle("right", button.dataset.letter === right);
      button.classList.toggle("said", button.dataset.letter === letter);
      button.setAttribute("aria-pressed", String(button.dataset.letter === letter));
    }
    const verdict = question.querySelector(".verdict");
    verdict.textContent = letter === "-" ? `The answer is ${right}.`
      : letter === right ? `${right} is right.` : `You chose ${letter}; the answer is ${right}.`;
    verdict.classList.toggle("good", letter === right);
    question.querySelector(".why").hidden = false;
    const open = question.querySelector(".open");
    if (open) open.hidden = true;
    uncover(coverOf(question));
    if (fresh) keep(question, letter);
  }

  for (const question of document.querySelectorAll(".question[data-right]")) {
    for (const button of question.querySelectorAll("[data-letter]"))
      button.addEventListener("click", () => tell(question, button.dataset.letter, true));
    question.querySelector(".open button").addEventListener("click", (event) => {
      tell(question, "-", false);
      if (event.isTrusted) question.querySelector(".why").focus();  // since the button is hidden now
    });
    conceal(coverOf(question));
  }
  for (const question of document.querySelectorAll(".question[data-right]")) {
    const letter = kept(question);
    if (letter) tell(question, letter, false);
  }
})();
