// A checker without a compiler, for tests of the page. A comment "// verdict: KIND" in the text says what it answers.
const RIGHT = ["computes weighted averages of three values for two queries", "computes attention for any number of queries, keys and features"];
const FAULTS = {
  wrong: { kind: "value", title: "computes attention for large scores", example: "one query with the scores 1000 and 999", what: "the output", expected: "[4.0758, 1]", got: "[nan, 1]" },
  shape: { kind: "shape", title: "has a row for each query", example: "", what: "the output", expected: "[2, 4]", got: "[4, 2]" },
  sentence: { kind: "sentence", title: "uses each key once", example: "", what: "It reads key 3 twice.", expected: "", got: "" },
  exception: { kind: "exception", title: "takes one key", example: "one key", what: "[matmul] inner sizes must be equal,\ngot 3 and 4", expected: "", got: "" },
};
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Checker {
  constructor(baseUrl) { this.base = baseUrl; this.loaded = false; }

  async size() { return this.loaded ? 0 : 30e6; }

  /// The lesson with a change: a module without content, or an error at the line with "// error", or at that of main().
  async build({ change, lesson, source }, { onProgress, signal }) {
    window.lastBuild = { change, slug: lesson.slug, source };
    onProgress({ phase: "compile", done: 0, total: 0 });
    await pause(source.includes("// slow") ? 60_000 : 30);
    const lineOf = (text) => source.split("\n").findIndex((one) => one.includes(text)) + 1;
    if (signal.aborted) return {};
    if (source.includes("// error")) return { line: lineOf("// error"), sentence: "The name nosoftmax is not declared." };
    if (source.includes("// misfit")) return { line: lineOf("int main("), sentence: "attend() takes 5 arguments." };
    return { module: new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) };
  }

  async explain(trap) { return `It is a trap: ${trap}.`; }

  async check({ exercise, text, pieces }, { onProgress, signal }) {
    window.lastCheck = { id: exercise.id, text, pieces, base: this.base };
    const kind = /\/\/ verdict: (\w+)/.exec(text)?.[1] ?? (text.includes("not_written_yet") ? "not_written" : "right");
    for (let done = 0; done <= 30e6 && !this.loaded; done += 6e6) {
      onProgress({ phase: "download", done, total: 30e6 });
      await pause(40);
      if (kind === "slow") await pause(400);
      if (signal.aborted) return { kind: "stopped" };
    }
    this.loaded = true;
    for (const phase of ["start", "compile", "link", "judge"]) {
      onProgress({ phase, done: 0, total: 0, ...(phase === "judge" ? { limit: exercise.limit, run: 1 } : {}) });
      await pause(kind === "slow" || (kind === "endless" && phase === "judge") ? 60_000 : 30);
      if (signal.aborted) return { kind: "stopped" };
    }
    if (kind === "broken") throw new Error("the worker is missing");
    const line = text.split("\n").findIndex((one) => one.includes("// verdict:")) + 1;
    const verdict = { kind, right: [], fault: null, reason: null, line: 0, sentence: "", printed: /\/\/ prints/.test(text) ? "3 keys\n" : "", seconds: 0.2 };
    if (FAULTS[kind])
      return { ...verdict, kind: "wrong", right: RIGHT, fault: FAULTS[kind], reason: kind === "wrong" ? "Your exponential overflows: for a score of 710 or more it is ∞." : null };
    if (kind === "right") return { ...verdict, right: RIGHT, ...(text.includes("// scored") ? { score: Number(/\/\/ scored (\S+)/.exec(text)[1]), unit: "ms" } : {}) };
    if (kind === "compile_error") return { ...verdict, line, sentence: "The name rot is not declared; did you mean root?" };
    if (kind === "crash") return { ...verdict, line, sentence: "It reads element 12 of a tensor with 12 elements." };
    if (kind === "timeout") return { ...verdict, sentence: `It does not end within ${exercise.limit} seconds; look for an endless loop.` };
    if (kind === "unavailable") return { ...verdict, sentence: "The compiler could not be loaded; check the connection." };
    return verdict;
  }
}
