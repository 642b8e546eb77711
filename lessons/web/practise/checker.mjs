// Checks an answer in the page: compiles it in one worker, runs its judge in another, and asks the grader for a verdict.
import {LESSON} from './change_link.mjs';
import {AGAIN, Downloads, get} from './download.mjs';
import {once} from './once.mjs';

const STOPPED = {kind: 'stopped', right: [], fault: null, reason: null, line: 0, sentence: '', printed: '', score: null, unit: ''};

function aborted(signal) {
  return new Promise((_, reject) => {
    const stop = () => reject(new DOMException('stopped', 'AbortError'));
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, {once: true});
  });
}

export class Checker {
  /// `base` is the URL of the book's folder practise/. Nothing is loaded before the first check.
  constructor(base) {
    this.base = new URL(base, location.href);
    /// Returns a promise of manifest.json.
    this.manifest = once(() => get(new URL('manifest.json', this.base), "the list of the compiler's files").then((found) => found.json()));
    this.worker = null;
    this.compiling = false; // an answer of the worker is awaited
    this.checks = 0;
  }

  /// Returns a promise of the bytes that the first check downloads; 0 if all are in the browser's cache.
  async size() {
    const manifest = await this.manifest();
    return new Downloads(this.base, manifest).missing(manifest.first);
  }

  /// Ends the compiler. The next check starts it again.
  end() {
    this.worker?.terminate();
    this.worker = null;
    this.compiling = false;
  }

  /// Sends a message to the compiler's worker and returns a promise of its answer.
  async compiler(message, onProgress) {
    const manifest = await this.manifest();
    if (!this.worker) {
      this.worker = new Worker(new URL('compile_worker.js', this.base), {type: 'module'});
      this.worker.postMessage({base: this.base.href, manifest});
    }
    const worker = this.worker;
    this.compiling = true;
    return new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message || `the compiler could not be downloaded; ${AGAIN}`));
      worker.onmessage = ({data}) => {
        if (data.type !== 'progress') this.compiling = false;
        if (data.type === 'progress') onProgress(data);
        if (data.type === 'failure') reject(new Error(data.message));
        if (['compiled', 'verdict', 'changed'].includes(data.type)) resolve(data);
      };
      worker.postMessage(message);
    });
  }

  /// Runs the judge. Returns the result of host.mjs's run(), or null if the time limit has passed.
  async judge(module, seed, limit, stop) {
    const worker = new Worker(new URL('judge_worker.js', this.base), {type: 'module'});
    let clock;
    try {
      return await Promise.race([
        stop,
        new Promise((resolve) => { clock = setTimeout(() => resolve(null), 1000 * limit); }),
        new Promise((resolve, reject) => {
          worker.onmessage = ({data}) => resolve(data);
          worker.onerror = (event) => reject(new Error(event.message || 'the judge could not be started'));
          worker.postMessage({module, seed});
        }),
      ]);
    } finally {
      clearTimeout(clock);
      worker.terminate();
    }
  }

  /// Compiles and judges an answer. `exercise` is an element of exercises/NN.json, and `pieces` are the learner's texts of
  /// the engine by name. Returns a promise of the verdict; it never rejects.
  async check({exercise, text, pieces = {}}, {onProgress = () => {}, signal} = {}) {
    const begin = performance.now(), check = ++this.checks, stop = aborted(signal);
    stop.catch(() => {});
    const seconds = () => (performance.now() - begin) / 1000;
    const verdictOn = async (outcome, printed) => {
      const {verdict} = await Promise.race([stop, this.compiler({verdict: check, outcome: {exercise, ...outcome}}, onProgress)]);
      return {...verdict, printed, seconds: seconds()};
    };
    try {
      const made = await Promise.race([
        stop, this.compiler({check, exercise, answer: text, pieces: {...exercise.engine, ...pieces}}, onProgress)]);
      if (made.type === 'verdict') return {...made.verdict, printed: '', seconds: seconds()};
      // At a recorded seed first, for which the faults of the known wrong answers are known, then at a new one.
      const seeds = Object.keys(exercise.faults), recorded = seeds[(check - 1) % seeds.length];
      let verdict = null;
      for (const [i, seed] of [recorded, String(Math.floor(Math.random() * 2 ** 31))].entries()) {
        onProgress({phase: 'judge', done: 0, total: 0, limit: exercise.limit, run: i + 1});
        const result = await this.judge(made.module, seed, exercise.limit, stop);
        if (!result) return await verdictOn({timed_out: true}, '');
        const {finding, trap, output, errors} = result;
        verdict = await verdictOn(
            finding ? {finding, faults: exercise.faults[seed] ?? []} : {trap: trap ?? 'the program ended early', line: 0},
            output + errors);
        if (verdict.kind !== 'right') break;
      }
      return verdict;
    } catch (error) {
      if (this.compiling || error.name !== 'AbortError') this.end(); // it is busy or broken
      if (error.name === 'AbortError') return {...STOPPED, seconds: seconds()};
      return {...STOPPED, kind: 'unavailable', sentence: `The answer could not be checked: ${error.message}.`, seconds: seconds()};
    }
  }

  /// Returns a promise of a sentence about the trap that ended a program.
  async explain(trap) {
    return (await this.compiler({verdict: ++this.checks, outcome: {exercise: LESSON, trap, line: 0}}, () => {})).verdict.sentence;
  }

  /// Compiles and links a lesson with a reader's change. `change` is its number, `lesson` its change/NN.json, and `source` its
  /// changed lesson.cpp. Returns a promise of {module}, or of {line, sentence} of its first error. Rejects if it is stopped, or
  /// if the compiler cannot be used.
  async build({change, lesson, source}, {onProgress = () => {}, signal} = {}) {
    const stop = aborted(signal);
    stop.catch(() => {});
    try {
      return await Promise.race([stop, this.compiler({change, lesson, source}, onProgress)]);
    } catch (error) {
      if (this.compiling || error.name !== 'AbortError') this.end(); // it is busy or broken
      throw error;
    }
  }
}
