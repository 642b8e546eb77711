// Runs a trained model in the page of its lesson. Each answer is a run of the lesson's program, which loads the weights as
// its checkpoint.
(function () {
  const place = document.getElementById("trained");
  if (!place) return;
  const at = document.currentScript.src;
  const find = (selector) => place.querySelector(selector);
  const form = find(".asked"), state = find(".state"), answer = find(".answer");
  const { html } = window.Drawing;
  let running = null, weights = null;

  if (location.protocol === "file:") {  // browsers do not start workers here
    form.remove();
    find(".about").textContent = "Browsers do not start programs for a page that is opened from a folder. On a machine with the project, start lessons/book --serve and open this page from there.";
    return;
  }

  async function load() {
    const got = await fetch(place.dataset.weights);
    if (!got.ok) throw new Error(`the weights could not be loaded (${got.status})`);
    return new Uint8Array(await got.arrayBuffer());
  }

  /// Runs the program with these options and stops an earlier run. Returns true if the program answered.
  async function ask(options, onMessage) {
    stop();
    const mine = running = { last: "" };
    place.dataset.state = "running";
    state.textContent = weights ? "" : "Loading …";
    try {
      const [{ runLesson }, bytes] = await Promise.all([import(new URL("run_lesson.mjs", at).href), weights || load()]);
      weights = bytes;
      if (running !== mine) return false;
      mine.worker = runLesson({
        script: place.dataset.script, options, files: { [place.dataset.file]: weights },
        onMessage(message) {
          if (running !== mine) return;
          state.textContent = "";
          if (message.type === "text" && message.stream === "err") mine.last = message.line.trim().replace(/^\w+: /, "");
          onMessage(message);
        },
      });
      const code = await mine.worker.code;
      if (running !== mine) return false;
      running = null;
      if (code !== 0) state.textContent = mine.last || `The program stopped with code ${code}.`;
      place.dataset.state = code === 0 ? "answered" : "refused";
      return code === 0;
    } catch (error) {
      if (running !== mine) return false;
      running = null;
      place.dataset.state = "failed";
      state.textContent = `The model could not answer: ${error.message.replace(/\.+$/, "")}.`;
      return false;
    }
  }

  function stop() {
    if (running && running.worker) running.worker.stop();
    running = null;
  }

  /// Returns the values of the form by name, or null if one is invalid.
  function chosen() {
    if (!form.checkValidity()) {
      stop();
      answer.textContent = "";
      place.dataset.state = "refused";
      const wrong = [...form.elements].find((e) => e.name && !e.checkValidity());
      state.textContent = wrong.type === "text" ? "Enter a sentence first." : `Enter a number from ${wrong.min} to ${wrong.max}.`;
      wrong.focus();
      return null;
    }
    return Object.fromEntries([...form.elements].filter((e) => e.name).map((e) => [e.name, e.value]));
  }

  // ---- translations

  function translator() {
    async function translate() {
      const options = chosen();
      if (!options) return;
      answer.textContent = "";
      let said = 0;
      await ask(options, (message) => {
        if (message.type === "map") window.Heatmaps.draw(answer, "translated", message.map);
        if (message.type !== "text" || message.stream !== "out") return;
        const [, written] = /^  → (.*)$/.exec(message.line) || [];
        if (written !== undefined) html(answer, "p", { class: said++ ? "written copied" : "written", lang: "fr" }, written);
        else if (/ is not in the vocabulary/.test(message.line)) html(answer, "p", { class: "note" }, message.line.trim() + ".");
      });
    }
    for (const example of form.querySelectorAll("[data-put]"))
      example.addEventListener("click", () => { form.elements.translate.value = example.dataset.put; translate(); });
    form.addEventListener("submit", (event) => { event.preventDefault(); translate(); });
  }

  // ---- generated text

  function writer() {
    const halt = find(".stop"), sliders = [...form.querySelectorAll("input[type=range]")];
    let seed = 0, waiting = null;

    async function write(again) {
      clearTimeout(waiting);
      const options = chosen();
      if (!options) return;
      if (!again) seed += 1;
      answer.textContent = "";
      const text = html(answer, "p", { class: "text" }), chosenNow = [];
      html(text, "b", {}, options.prompt);
      const cache = html(answer, "p", { class: "cache" });
      const bar = html(cache, "meter", { min: 0, max: 1, value: 0, "aria-label": "Keys and values in the cache" });
      const count = html(cache, "span");
      const show = ({ kept, room }) => {
        bar.max = room;
        bar.value = kept;
        count.textContent = `cache: keys and values of ${kept} characters; ${room} fit`;
      };
      halt.hidden = false;
      const whole = await ask({ ...options, seed, length: 300 }, (message) => {
        if (message.type !== "written") return;
        chosenNow.push(message);
        html(text, "span", {}, message.text);
        show(message);
      });
      halt.hidden = true;
      if (whole) state.textContent = `Generated ${chosenNow.length} characters.`;
      if (whole) look(text, [...options.prompt].length, chosenNow, show);
    }

    /// Adds a slider over the generated text that marks the characters on which each choice depends.
    function look(text, before, all, show) {
      const prompt = text.querySelector("b"), letters = [...prompt.textContent];
      prompt.textContent = "";
      letters.forEach((letter) => html(prompt, "span", {}, letter));
      const spans = [...text.querySelectorAll("span")];
      const { input, says } = window.Drawing.slider(answer, "Character", 1, all.length, 1, all.length, mark);
      function mark(which) {
        const { text: letter, kept } = all[which - 1], here = before + which - 1;
        spans.forEach((span, i) => {
          span.classList.toggle("seen", i >= here - kept && i < here);
          span.classList.toggle("chosen", i === here);
        });
        says.textContent = String(which);
        input.setAttribute("aria-valuetext", `${which}, “${letter}”, chosen with ${kept} characters in the cache`);
        place.dataset.seen = spans.filter((span) => span.classList.contains("seen")).length;
        show(all[which - 1]);
      }
      mark(all.length);
    }

    sliders.forEach((input) => {
      const says = input.parentElement.querySelector("output");
      input.addEventListener("input", () => {
        says.textContent = input.name === "top-k" && input.value === "0" ? "all" : input.value;
        if (!answer.firstChild) return;
        clearTimeout(waiting);
        waiting = setTimeout(() => write(true), 200);
      });
    });
    halt.addEventListener("click", () => {
      stop();
      halt.hidden = true;
      place.dataset.state = "stopped";
      find(".go").focus();
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); write(false); });
  }

  (place.dataset.kind === "translator" ? translator : writer)();
})();
