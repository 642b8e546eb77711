// Check and Stop, with the progress of a check: bytes while the compiler is loaded, then the phase, its seconds and its limit.
import { button, element } from "./elements.mjs";

const PHASES = { start: "Starting the compiler", compile: "Compiling", link: "Linking", judge: "Running the tests" };

const LONG = 10; // seconds after which the page says more about a phase without a limit

const megabytes = (bytes) => Math.max(1, Math.round(bytes / 1e6));

export class CheckView {
  /// `name` is the button's, and `does` completes "The first … loads the compiler".
  constructor({ onCheck, onStop, name = "Check", does = "check" }) {
    this.does = does;
    this.check = button(name, "go check", onCheck);
    this.stop = button("Stop", "stop", onStop);
    this.stop.hidden = true;
    this.bar = element("progress", { max: 1 });
    this.bar.setAttribute("aria-label", `Progress of the ${does}`);
    this.says = element("span", { className: "numbers" });
    this.going = element("p", { className: "going", hidden: true }, this.bar, this.says);
    this.announced = element("p", { className: "hidden" }); // for screen readers: a phase once, and never the seconds
    this.announced.setAttribute("role", "status");
  }

  /// Tells the size of the first download, before the reader starts it.
  first(bytes) {
    this.going.hidden = !bytes;
    this.bar.hidden = true;
    this.says.textContent = bytes ? `The first ${this.does} loads the compiler (${megabytes(bytes)} MB, once). Nothing is sent anywhere.` : "";
  }

  begin() {
    this.from = performance.now();
    this.enter({ phase: "start" });
    this.check.setAttribute("aria-disabled", "true");
    this.stop.hidden = this.going.hidden = this.bar.hidden = false;
    this.tick();
    this.clock = setInterval(() => this.tick(), 200);
    this.going.scrollIntoView({ block: "nearest" });
  }

  progress(phase) {
    if (phase.phase === this.phase.phase && phase.run === this.phase.run) this.phase = phase;
    else this.enter(phase);
    this.tick();
  }

  enter(phase) {
    this.phase = phase;
    this.since = performance.now();
    this.told = false;
  }

  /// Returns what is known about the end of the phase, and tells it to a screen reader once.
  untilEnd() {
    const { limit = 0 } = this.phase, lasts = (performance.now() - this.since) / 1000;
    const says = limit > 0 ? `They end in at most ${Math.max(0, Math.ceil(limit - lasts))} s.`
      : lasts > LONG ? `The first ${this.does} takes longest; Stop ends it.` : "";
    if (says && lasts > 3 && !this.told) {
      this.told = true;
      this.announced.textContent = `${this.name()}. ${says}`;
    }
    return says;
  }

  name() {
    const { phase, run = 1 } = this.phase;
    return (PHASES[phase] ?? PHASES.start) + (run > 1 ? " with other numbers" : "");
  }

  tick() {
    const { phase, done = 0, total = 0 } = this.phase, seconds = `${this.seconds().toFixed(1)} s`;
    if (phase === "download" && total > 0) {
      this.bar.value = done / total;
      this.says.textContent = `Loading the compiler, ${Math.floor(done / 1e6)} of ${megabytes(total)} MB, once; ${seconds}`;
    } else {
      this.bar.removeAttribute("value");
      this.says.textContent = `${this.name()}; ${seconds}. ${this.untilEnd()}`.replace(/\. $/, "");
    }
  }

  seconds() { return (performance.now() - this.from) / 1000; }

  end() {
    clearInterval(this.clock);
    const focused = document.activeElement === this.stop;
    this.check.removeAttribute("aria-disabled");
    this.stop.hidden = this.going.hidden = true;
    this.announced.textContent = "";
    if (focused) this.check.focus();
  }
}
