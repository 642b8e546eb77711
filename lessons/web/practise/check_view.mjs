// Check and Stop, with the progress of a check: bytes while the compiler is loaded, then the phase and the seconds.
import { button, element } from "./elements.mjs";

const PHASES = { start: "Starting the compiler", compile: "Compiling", link: "Linking", judge: "Running the tests" };

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
  }

  /// Tells the size of the first download, before the reader starts it.
  first(bytes) {
    this.going.hidden = !bytes;
    this.bar.hidden = true;
    this.says.textContent = bytes ? `The first ${this.does} loads the compiler (${megabytes(bytes)} MB, once). Nothing is sent anywhere.` : "";
  }

  begin() {
    this.from = performance.now();
    this.phase = { phase: "start" };
    this.check.setAttribute("aria-disabled", "true");
    this.stop.hidden = this.going.hidden = this.bar.hidden = false;
    this.tick();
    this.clock = setInterval(() => this.tick(), 200);
  }

  progress(phase) {
    this.phase = phase;
    this.tick();
  }

  tick() {
    const { phase, done = 0, total = 0 } = this.phase, seconds = `${this.seconds().toFixed(1)} s`;
    if (phase === "download" && total > 0) {
      this.bar.value = done / total;
      this.says.textContent = `Loading the compiler, ${Math.floor(done / 1e6)} of ${megabytes(total)} MB, once; ${seconds}`;
    } else {
      this.bar.removeAttribute("value");
      this.says.textContent = `${PHASES[phase] ?? PHASES.start}; ${seconds}`;
    }
  }

  seconds() { return (performance.now() - this.from) / 1000; }

  end() {
    clearInterval(this.clock);
    const focused = document.activeElement === this.stop;
    this.check.removeAttribute("aria-disabled");
    this.stop.hidden = this.going.hidden = true;
    if (focused) this.check.focus();
  }
}
