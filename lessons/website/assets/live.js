// Runs the lesson in the page: the button starts a worker with the chosen options. An event "changed" runs the lesson with the
// reader's change instead: {module, script, what, back, explain} (lessons/web/practise/change.mjs).
(function () {
  const here = document.getElementById("here");
  if (!here) return;
  const at = document.currentScript.src;
  const find = (selector) => here.querySelector(selector);
  const [start, stop, state, going, bar, numbers, losses, outcome, told, judgedList] =
    [".go", ".stop", ".state", ".going", "progress", ".numbers", ".losses", ".outcome", ".told", ".judged"].map(find);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const SVG = "http://www.w3.org/2000/svg";
  let running = null;

  if (location.protocol === "file:") {  // browsers do not start workers here
    find(".choices").remove();
    find(".doing").textContent = "Browsers do not start programs for a page that is opened from a folder. On a machine with the project, start lessons/book --serve and open this page from there.";
    return;
  }

  const seconds = (from) => (performance.now() - from) / 1000;
  const time = (s) => (s < 9.95 ? `${s.toFixed(1)} s` : s < 60 ? `${Math.round(s)} s` : `${Math.floor(s / 60)} min ${String(Math.round(s % 60)).padStart(2, "0")} s`);
  const whole = (value) => Math.round(value).toLocaleString("en");
  const figure = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))).replace("-", "−") : "not a number");

  function paragraph(text, className) {
    const p = document.createElement("p");
    p.textContent = text;
    if (className) p.className = className;
    outcome.append(p);
  }

  // ---- options

  /// Returns the options that differ from the lesson's defaults, such as {seed: 1}, or null if a value is out of range.
  function chosen() {
    const options = { seed: find("[name=seed]").value };
    for (const input of here.querySelectorAll(".choices input, .choices select")) {
      const fine = input.checkValidity() && input.value !== "";
      input.toggleAttribute("aria-invalid", !fine);
      if (!fine) {
        const name = input.closest("label").firstChild.textContent.trim();
        state.textContent = `${name}: enter a number from ${input.min} to ${input.max}.`;
        input.focus();
        return null;
      }
      const own = input.tagName === "SELECT" ? [...input.options].find((o) => o.defaultSelected) : null;
      if (input.value !== (own ? own.value : input.defaultValue)) options[input.name] = input.value;
    }
    return options;
  }

  // ---- a run

  function prepare() {
    outcome.textContent = "";
    judgedList.textContent = "";
    losses.textContent = "";
    going.hidden = true;
    start.hidden = true;
    stop.hidden = false;
    here.classList.add("runs");
    here.dataset.state = "running";
    state.textContent = "Loading …";
    stop.focus();
  }

  /// Says under the buttons which change the run has, with a way back to it.
  function tellChange(program) {
    const note = find(".with-change");
    if (!note) return;
    note.hidden = !program;
    if (!program) return;
    const back = document.createElement("a");
    back.href = `#${program.back}`;
    back.textContent = "Back to the code";
    note.replaceChildren(`This run uses ${program.what}. `, back);
  }

  function over(name) {
    clearInterval(running.clock);
    running = null;
    const focused = document.activeElement === stop;
    stop.hidden = true;
    start.hidden = false;
    start.textContent = find(".with-change")?.hidden === false ? "Run the original" : "Run again";
    going.hidden = true;
    here.classList.remove("runs");
    here.dataset.state = name;
    if (focused) start.focus();
  }

  async function run(program = null) {
    const options = chosen();
    if (!options || running) return;
    const mine = running = { from: performance.now(), heard: performance.now(), said: false, figures: [], last: "", section: "", program };
    prepare();
    tellChange(program);
    const current = () => running === mine;
    const broken = (why) => {
      if (!current()) return;
      const after = time(seconds(mine.from));
      if (mine.worker) mine.worker.stop();
      if (mine.transcript) mine.transcript.end();
      over("failed");
      state.textContent = `${why} (After ${after}.)`;
    };
    mine.clock = setInterval(() => {
      if (!mine.said && seconds(mine.from) > Number(here.dataset.patience))
        broken("The lesson's program did not answer. This page shows a recorded run of it.");
      else if (program && seconds(mine.heard) > Number(here.dataset.silence))
        broken(`The lesson sent nothing for ${here.dataset.silence} s, so it was stopped; look for an endless loop in your change.`);
      else if (mine.said && !mine.progress) numbersSay(mine);
    }, 250);
    try {
      const [{ runLesson }, { Transcript }] = await Promise.all(["run_lesson.mjs", "transcript.mjs"].map((name) => import(new URL(name, at).href)));
      if (!current()) return;
      const transcript = mine.transcript = new Transcript(told, (title) => {
        mine.section = title;
        mine.progress = null;
        state.textContent = `Running: ${title}`;
      });
      mine.worker = runLesson({ script: program ? program.script : here.dataset.script, module: program?.module, options, onMessage: (message) => current() && receive(mine, transcript, message) });
      const code = await mine.worker.code;
      if (current() && code !== null) ended(mine, transcript, code, options);
    } catch (error) {
      if (program && mine.said) return broken(error.plain ? error.message : `The lesson stopped with an error. ${await explained(program, error)}`);
      broken(mine.said ? `The lesson's program stopped with an error: ${error.message.replace(/\.+$/, "")}.`
        : "The lesson's program could not be loaded. This page shows a recorded run of it.");
    }
  }

  async function explained(program, error) {
    const sentence = await program.explain(error.message).catch(() => "");
    return sentence || `${error.message.replace(/\.+$/, "")}.`;
  }

  function receive(mine, transcript, message) {
    mine.heard = performance.now();
    if (!mine.said && message.type !== "failure") {
      mine.said = true;
      going.hidden = false;
      state.textContent = "Running";
    }
    if (message.type === "text" && message.stream === "out") transcript.line(message.line);
    if (message.type === "text" && message.stream === "err") mine.last = message.line.trim();
    if (message.type === "map") transcript.map(message.name, message.map);
    if (message.type === "picture") transcript.picture(message.name, message.svg);
    if (message.type === "figure" && message.target) mine.figures.push(message);
    if (message.type === "progress") progress(mine, message);
  }

  function numbersSay(mine) {
    bar.removeAttribute("value");
    numbers.textContent = `computing, ${time(seconds(mine.from))}`;
  }

  function progress(mine, message) {
    const fresh = !mine.progress || message.total !== mine.progress.total || message.done < mine.progress.done;
    mine.progress = message;
    bar.max = message.total;
    bar.value = message.done;
    numbers.textContent = `step ${whole(message.done)} of ${whole(message.total)}, loss ${figure(message.loss)}, ${time(seconds(mine.from))}`;
    if (fresh) mine.curve = [];
    mine.curve.push([message.done / message.total, message.loss]);
    if (!calm.matches || message.done === message.total) draw(mine.curve);
  }

  /// Draws the loss curve of the current training run.
  function draw(curve) {
    const finite = curve.filter(([, loss]) => Number.isFinite(loss));
    if (!finite.length) return;
    const values = finite.map(([, loss]) => loss), least = Math.min(0, ...values), most = Math.max(...values);
    const line = losses.querySelector("polyline") || losses.appendChild(document.createElementNS(SVG, "polyline"));
    line.setAttribute("points", finite.map(([x, loss]) => `${(300 * x).toFixed(1)},${(57 - (54 * (loss - least)) / (most - least || 1)).toFixed(1)}`).join(" "));
  }

  // ---- the end of a run

  function ended(mine, transcript, code, options) {
    const took = time(seconds(mine.from));
    transcript.end();
    over(code === 0 ? "met" : code === 1 ? "missed" : "failed");
    const judged = mine.figures.filter(({ verdict }) => verdict === "ok" || verdict === "MISSED");
    const missed = judged.filter(({ verdict }) => verdict === "MISSED");
    const count = judged.length === 1 ? "The target is met" : `All ${judged.length} targets are met`;
    if (code === 0) {
      state.textContent = `Done in ${took}.`;
      paragraph(judged.length ? `${count}, after ${took} on one thread of this device.` : `All checks passed, after ${took} on one thread of this device.`, "good");
    } else if (code === 1) {
      state.textContent = `Done in ${took}.`;
      paragraph(missed.length ? `${missed.length} of ${judged.length} targets ${missed.length === 1 ? "is" : "are"} missed, after ${took}.` : `A check failed, after ${took}; the last lines say which one.`, "bad");
      if (mine.program && !mine.program.what.startsWith("the ")) paragraph("The targets apply to the chapter's code; with your change, the lesson may miss them.");
      const fewer = options.steps && Number(options.steps) < Number(find("[name=steps]").defaultValue);
      const others = Object.keys(options).filter((name) => name !== "seed").length;
      if (fewer) paragraph("The targets apply to the default number of steps; with fewer steps, the lesson is not expected to reach them.");
      else if (others) paragraph("The targets apply to the default options; with other options, the lesson may miss them.");
    } else {
      state.textContent = mine.last ? `The lesson stopped: ${mine.last.replace(/^\w+: /, "")}.` : `The lesson stopped with code ${code}.`;
    }
    if (judged.length) list(judged);
    const open = told.querySelectorAll(".question:not([data-said])").length;
    if (open) paragraph(`There is more output: the page shows the output after ${open === 1 ? "a question" : `each of ${open} questions`} when you have answered it.`);
  }

  function list(judged) {
    const all = document.createElement("ul");
    for (const { what, value, unit, target, verdict } of judged) {
      const item = document.createElement("li");
      item.textContent = `${what}: ${figure(value)}${unit ? " " + unit : ""}, target ${target}: ${verdict === "ok" ? "met" : "missed"}`;
      if (verdict !== "ok") item.className = "bad";
      all.append(item);
    }
    judgedList.append(all);
  }

  start.addEventListener("click", () => run());
  stop.addEventListener("click", halt);
  here.addEventListener("changed", ({ detail }) => {
    halt();
    run(detail);
  });
  function halt() {
    if (!running) return;
    const mine = running, after = time(seconds(mine.from));
    if (mine.worker) mine.worker.stop();
    if (mine.transcript) mine.transcript.end();
    over("stopped");
    state.textContent = `Stopped after ${after}.`;
  }
  find(".choices").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
    event.preventDefault();  // the key is not meant for Stop, which gets the focus
    run();
  });
})();
