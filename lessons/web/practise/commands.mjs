// The commands with which a page compiles and links answers, from those of the build for WebAssembly. In the page's file
// system, the project is at /usr/t, Emscripten's headers are at /usr/sys, and other packages at /usr/packages.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join, resolve} from 'node:path';

/// Splits a command of compile_commands.json into words.
function words(command) {
  const plain = (text) => text.replace(/\\(.)/g, '$1');
  return [...command.matchAll(/(?:[^\s"\\]|\\.|"(?:[^"\\]|\\.)*")+/g)].map(
      ([word]) => word.replace(/\\(.)|"((?:[^"\\]|\\.)*)"/g, (_, escaped, quoted) => escaped ?? plain(quoted)));
}

/// Returns the command that the build uses for the sample of an answer.
export function sampleCommand(build) {
  const entry = JSON.parse(readFileSync(join(build, 'compile_commands.json')))
      .find(({file}) => file.endsWith('lessons/grader/judge/sample.cpp'));
  if (!entry) throw new Error(`${build} must have a command for lessons/grader/judge/sample.cpp; build page_practise there`);
  return entry.command;
}

/// Returns the flags of the sample's command that an answer needs too. `place(folder)` is where the compiler finds a folder.
function answerFlags(build, place) {
  const given = words(sampleCommand(build)), flags = [];
  for (let i = 1; i < given.length; ++i) {
    if (given[i] === '-isystem') flags.push('-isystem', place(given[++i]));
    else if (given[i].startsWith('-I')) flags.push('-I' + place(given[i].slice(2)));
    else if (given[i] === '-include') ++i; // part of the precompiled header
    else if (/^-(D|f|m|std=)/.test(given[i])) flags.push(given[i]);
  }
  return flags;
}

/// Returns the flags of an answer and the folders of its headers, as {flags, folders: {place: folder}}.
export function compileFlags(root, build) {
  const folders = {'usr/t': root};
  const flags = answerFlags(build, (folder) => {
    if (resolve(folder) === resolve(root)) return 'usr/t';
    const name = `usr/packages/${Object.keys(folders).length}`;
    folders[name] = folder;
    return name;
  });
  const emscripten = words(execFileSync('em++', ['--cflags'], {encoding: 'utf8'}));
  const sysroot = emscripten.find((word) => word.startsWith('--sysroot=')).slice('--sysroot='.length);
  folders['usr/sys/include'] = join(sysroot, 'include');
  const own = emscripten.filter((word, i) => /^-(D|f(?!ignore-exceptions))/.test(word) && emscripten[i - 1] !== '-mllvm');
  return {
    folders,
    flags: ['--target=wasm32-unknown-emscripten', '-nostdinc', '-nostdinc++', '-isystem', 'usr/sys/include/c++/v1', '-isystem',
            'usr/sys/include/compat', '-isystem', 'usr/include', '-isystem', 'usr/sys/include', '-D__EMSCRIPTEN__',
            ...own, ...flags, '-Ianswer'],
  };
}

/// Returns the words with which em++ calls the machine's own compiler for an answer, the compiler first.
export function nativeCommand(build) {
  const folder = mkdtempSync(join(tmpdir(), 'tapestry-'));
  try {
    writeFileSync(join(folder, 'x.cpp'), '');
    const made = spawnSync('em++', ['-v', '-c', 'x.cpp', '-o', 'x.o'], {cwd: folder, encoding: 'utf8'});
    const line = made.stderr.split('\n').find((text) => text.endsWith(' -c x.cpp -o x.o'));
    if (!line) throw new Error(`em++ did not compile a file: ${made.stderr.slice(-500)}`);
    return [...words(line).slice(0, -4).filter((word) => word !== '-v'), ...answerFlags(build, (place) => place)];
  } finally {
    rmSync(folder, {recursive: true});
  }
}

/// Returns {linker, crt, archives}: the machine's own linker, the object that starts a program, and Emscripten's archives,
/// as em++ links a program that needs no JavaScript.
export function linkParts() {
  const folder = mkdtempSync(join(tmpdir(), 'tapestry-'));
  try {
    writeFileSync(join(folder, 'x.cpp'), 'int main() { throw 1; }\n');
    const made = spawnSync('em++', ['-v', '-O2', '-fwasm-exceptions', '-sALLOW_MEMORY_GROWTH=1', '-sSTANDALONE_WASM=1',
                                    '-sMAXIMUM_MEMORY=1GB', '-sINITIAL_MEMORY=64MB', 'x.cpp', '-o', 'x.wasm'],
                           {cwd: folder, encoding: 'utf8', env: {...process.env, NODE_PATH: '/usr/share/nodejs'}});
    const line = made.stderr.split('\n').find((text) => /wasm-ld/.test(text));
    if (!line) throw new Error(`em++ did not link a program: ${made.stderr.slice(-500)}`);
    const parts = words(line), searched = parts.filter((part) => part.startsWith('-L')).map((part) => part.slice(2));
    const crt = parts.find((part) => basename(part).startsWith('crt1'));
    const archives = parts.filter((part) => /^-l(?!GL|al$|html5|openal)/.test(part))
        .map((part) => searched.map((where) => join(where, `lib${part.slice(2)}.a`)))
        .map((candidates) => candidates.find((file) => { try { readFileSync(file); return true; } catch { return false; } }))
        .filter(Boolean);
    return {linker: parts[0], crt, archives};
  } finally {
    rmSync(folder, {recursive: true});
  }
}

/// Options for wasm-ld. A stack of 5 MB; at most 1 GB of memory, so that an answer that grows without end stops.
export const LINK_FLAGS = ['--import-undefined', '--strip-debug', '-z', 'stack-size=5242880', '--initial-memory=67108864',
                           '--max-memory=1073741824'];

/// Returns the libraries of the build, the judge first.
export function libraries(build) {
  return ['lessons/libtapestry_judge.a', 'lessons/libtapestry_kit.a', 'libtapestry_nn.a', 'libtapestry_optim.a', 'libtapestry_core.a',
          '_deps/fmt-build/libfmt.a', '_deps/utf8proc-build/libutf8proc.a'].map((file) => join(build, file));
}
