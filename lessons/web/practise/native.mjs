// Compiles and links answers with the machine's own compiler for WebAssembly, which takes a third of the time of the page's.
// The book's build runs more than a thousand answers this way. tests/book/run.py write runs them with the page's compiler.
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, dirname, join} from 'node:path';

const HEADER = 'native_answer.hpp';

function ran([program, ...words], cwd) {
  const made = spawnSync(program, words, {cwd, encoding: 'utf8', maxBuffer: 1 << 28});
  if (made.error) throw new Error(`${program} could not be started: ${made.error.message}`);
  return {ok: made.status === 0, output: made.stderr, printed: made.stdout};
}

/// Writes the precompiled header of `text`, which native() uses, to `work`.
export function precompile(work, compile, text) {
  writeFileSync(join(work, HEADER), text);
  const made = ran([...compile, '-O0', '-fpch-instantiate-templates', '-x', 'c++-header', HEADER, '-o', `${HEADER}.pch`], work);
  if (!made.ok) throw new Error(`the precompiled header failed: ${made.output}`);
}

/// Compiles and links page_grader's `texts`. Returns {module, members}: the program, and what it needs of the libraries as
/// [archive, name]; or {output}: the messages of the compiler or the linker.
export async function native(work, {compile, link}, texts, fast) {
  const folder = mkdtempSync(join(tmpdir(), 'tapestry-'));
  try {
    for (const [path, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(folder, path)), {recursive: true});
      writeFileSync(join(folder, path), text);
    }
    // Clang would refuse the precompiled header at another level of optimisation.
    const compiled = ran([...compile, fast ? '-O2' : '-O0', '-include-pch', join(work, `${HEADER}.pch`), '-Xclang', '-fno-validate-pch', '-w',
                          '-I.', '-c', 'judged.cpp', '-o', 'answer.o'], folder);
    if (!compiled.ok) return {output: compiled.output};
    const [linker, ...rest] = link, linked = ran([linker, '-t', 'answer.o', ...rest, '-o', 'answer.wasm'], folder);
    if (!linked.ok) return {output: linked.output};
    return {
      module: await WebAssembly.compile(readFileSync(join(folder, 'answer.wasm'))),
      members: [...linked.printed.matchAll(/^(.+\.a)\((.+)\)$/gm)].map(([, archive, name]) => [basename(archive), name]),
    };
  } finally {
    rmSync(folder, {recursive: true});
  }
}
