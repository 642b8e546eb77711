// Compiles and links answers with the machine's own compiler for WebAssembly, which takes a third of the time of the page's.
// The book's build runs more than a thousand wrong answers this way; solutions are compiled as a page compiles them.
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';

const HEADER = 'native_answer.hpp';

function ran([program, ...words], cwd) {
  const made = spawnSync(program, words, {cwd, encoding: 'utf8', maxBuffer: 1 << 28});
  if (made.error) throw new Error(`${program} could not be started: ${made.error.message}`);
  return {ok: made.status === 0, output: made.stderr};
}

/// Writes the precompiled header of `text`, which native() uses, to `work`.
export function precompile(work, compile, text) {
  writeFileSync(join(work, HEADER), text);
  const made = ran([...compile, '-O0', '-fpch-instantiate-templates', '-x', 'c++-header', HEADER, '-o', `${HEADER}.pch`], work);
  if (!made.ok) throw new Error(`the precompiled header failed: ${made.output}`);
}

/// Returns the program of page_grader's `texts` as {module}, or {output}: the messages of the compiler or linker. `object`
/// is an object that was compiled before, in place of texts.
export async function native(work, {compile, link}, {texts, object, fast = false}) {
  const folder = mkdtempSync(join(tmpdir(), 'tapestry-'));
  try {
    for (const [path, text] of Object.entries(texts ?? {})) {
      mkdirSync(dirname(join(folder, path)), {recursive: true});
      writeFileSync(join(folder, path), text);
    }
    if (object) writeFileSync(join(folder, 'answer.o'), object);
    // A precompiled header can be used at another level of optimisation only without Clang's comparison of the two.
    const steps = [link[0], 'answer.o', ...link.slice(1), '-o', 'answer.wasm'];
    const compiled = object ? {ok: true} : ran([...compile, fast ? '-O2' : '-O0', '-include-pch', join(work, `${HEADER}.pch`), '-Xclang',
      '-fno-validate-pch', '-w', '-I.', '-c', 'judged.cpp', '-o', 'answer.o'], folder);
    if (!compiled.ok) return {output: compiled.output};
    const linked = ran(steps, folder);
    return linked.ok ? {module: await WebAssembly.compile(readFileSync(join(folder, 'answer.wasm')))} : {output: linked.output};
  } finally {
    rmSync(folder, {recursive: true});
  }
}
