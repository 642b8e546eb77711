// Runs a program for WASI: a judged answer, or the grader's own program. For a page's worker and for Node.
import {ConsoleStdout, File, OpenFile, WASI} from '@bjorn3/browser_wasi_shim';

import {collected} from './bytes.mjs';

const MOST_OUTPUT = 200_000; // bytes of each stream that are kept, unless told otherwise

/// Returns the functions of elsewhere.cpp and of the judge's main program, for the instance that `memory` returns the
/// memory of.
function judgeFunctions(memory, result) {
  let saved = null, numbers = null;
  return {
    finding(at, size) {
      result.finding = new TextDecoder().decode(memory().slice(at, at + size));
    },
    save_memory() {
      saved = memory().slice();
    },
    restore_memory(at, count) {
      numbers = memory().slice(at, at + 8 * count);
      memory().set(saved);
      saved = null;
      return count;
    },
    read_saved(at) {
      memory().set(numbers, at);
    },
  };
}

/// Returns true if this host provides the import.
export function provides({module, name}) {
  if (module === 'wasi_snapshot_preview1') return name in new WASI([], [], []).wasiImport;
  if (module === 'tapestry') return ['finding', 'save_memory', 'restore_memory', 'read_saved'].includes(name);
  return module === 'env' && (name === 'emscripten_notify_memory_growth' || name.startsWith('__syscall_'));
}

/// Runs a compiled module to its end. Returns {code, output, errors, finding, trap}: `finding` is what a judge reported,
/// or null; `trap` the message with which the program was ended, or null.
export function run(module, {args = [], input = '', most = MOST_OUTPUT} = {}) {
  const result = {code: 0, output: '', errors: '', finding: null, trap: null};
  const out = collected(most), err = collected(most);
  const stdin = new OpenFile(new File(new TextEncoder().encode(input)));
  const wasi = new WASI(['program', ...args], [], [stdin, new ConsoleStdout(out.add), new ConsoleStdout(err.add)], {debug: false});
  let instance = null;
  const memory = () => new Uint8Array(instance.exports.memory.buffer);
  const imports = {wasi_snapshot_preview1: wasi.wasiImport, env: {}, tapestry: judgeFunctions(memory, result)};
  for (const {module: from, name} of WebAssembly.Module.imports(module))
    if (from === 'env') imports.env[name] = name.startsWith('__syscall_') ? () => -52 /* ENOSYS */ : () => {};
  instance = new WebAssembly.Instance(module, imports);
  try {
    result.code = wasi.start(instance);
  } catch (error) {
    result.trap = error instanceof WebAssembly.Exception ? 'uncaught exception' : String(error.message ?? error);
  }
  result.output = out.text();
  result.errors = err.text();
  return result;
}

/// Asks page_grader, the grader's own program, which reads and writes JSON. Throws an Error with its message.
export function ask(grader, command, input) {
  const {code, output, errors, trap} = run(grader, {args: [command], input: JSON.stringify(input), most: Infinity});
  if (code !== 0 || trap) throw new Error(trap ?? errors);
  return JSON.parse(output);
}
