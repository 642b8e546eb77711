// The parts of the toolchain that a page downloads: Clang, headers, the precompiled header, the object that answers are
// linked with, the libraries, and the grader's program.
import {execFileSync} from 'node:child_process';
import {copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {basename, extname, join} from 'node:path';

import {members} from './archive.mjs';
import {compileFlags, libraries, LINK_FLAGS, linkParts, nativeCommand} from './commands.mjs';
import {precompile} from './native.mjs';
import {tar} from './tar.mjs';
import {Toolchain} from './toolchain.mjs';

const HEADERS = /^(\.(hpp|h|hh|inc|def|tcc))?$/;

const PRECOMPILED = ['.cmake/standard_library.hpp', 'lessons/grader/answer.hpp', 'lessons/grader/judge/judge.hpp']
    .map((name) => `#include "/usr/t/${name}"\n`).join('');

/// Copies the headers below a folder.
function copyHeaders(from, to) {
  for (const entry of readdirSync(from, {withFileTypes: true})) {
    const source = join(from, entry.name), target = join(to, entry.name);
    if (entry.isDirectory()) copyHeaders(source, target);
    else if (entry.isFile() && HEADERS.test(extname(entry.name))) mkdirSync(to, {recursive: true}), copyFileSync(source, target);
  }
}

/// Writes work/clang/: the package's program, with an archive that has our headers in place of the package's.
function clang(work, modules, folders) {
  const stage = join(work, 'stage'), to = join(work, 'clang'), from = join(modules, 'node_modules/@yowasp/clang/gen');
  rmSync(stage, {recursive: true, force: true});
  rmSync(to, {recursive: true, force: true});
  for (const [place, folder] of Object.entries(folders)) {
    const only = place === 'usr/t' ? ['core', 'nn', 'optim', 'lessons/grader', 'lessons/kit', '.cmake'] : [''];
    for (const part of only) copyHeaders(join(folder, part), join(stage, place, part));
  }
  for (const unused of ['SDL', 'GL', 'GLES', 'GLES2', 'GLES3', 'EGL', 'AL', 'X11', 'webgpu'])
    rmSync(join(stage, 'usr/sys/include', unused), {recursive: true, force: true});
  writeFileSync(join(stage, 'usr/answer.hpp'), PRECOMPILED);
  execFileSync('tar', ['-xf', join(from, 'llvm-resources.tar'), '-C', join(stage, 'usr'), '--wildcards', 'include/std*',
                       'include/__std*', 'include/wasm*', 'include/limits.h',
                       'include/float.h']);
  mkdirSync(to, {recursive: true});
  writeFileSync(join(to, 'llvm-resources.tar'), tar(join(stage, 'usr')));
  for (const name of readdirSync(from).filter((name) => name.endsWith('.wasm'))) symlinkSync(join(from, name), join(to, name));
  cpSync(join(from, 'bundle.js'), join(to, 'bundle.mjs'));
}

/// Returns the words with which the compiler itself is called for `words`, so that a page saves the driver's run.
async function inner(toolchain, words, files) {
  const {output} = await toolchain.tool(['clang++', '-###', ...words], files);
  const line = output.split('\n').find((text) => text.startsWith(' "'));
  if (!line) throw new Error(`Clang did not accept the command: ${output}`);
  const quoted = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1].replace(/\\(.)/g, '$1'));
  return ['clang++', ...quoted.slice(quoted.indexOf('-cc1'))];
}

/// Opens the toolchain that makeParts() made in `work`.
export async function toolchainOf(work) {
  const commands = JSON.parse(readFileSync(join(work, 'commands.json')));
  const {runLLVM} = await import(join(work, 'clang/bundle.mjs'));
  const kept = new Map();
  const read = (path) => kept.get(path) ?? kept.set(path, new Uint8Array(readFileSync(path))).get(path);
  return new Toolchain({
    runLLVM, commands,
    file: async (name) => read(join(work, name)),
    libraries: async () => Object.fromEntries(Object.entries(commands.paths).map(([name, path]) => [name, read(path)])),
  });
}

/// Makes the toolchain in `work`: Clang with its headers, answer.pch, page_grader.wasm and commands.json. Writes the name of
/// each step with say().
export async function makeParts({root, build, modules, work, say}) {
  mkdirSync(work, {recursive: true});
  const {flags, folders} = compileFlags(root, build), {linker, crt, archives} = linkParts();
  const paths = Object.fromEntries([crt, ...libraries(build), ...archives].map((path) => [basename(path), path]));
  const commands = {link: LINK_FLAGS, archives: Object.keys(paths), libraries: Object.keys(paths).slice(1), crt: basename(crt), paths,
                    native: {compile: nativeCommand(build), link: [linker, ...LINK_FLAGS, ...Object.values(paths)]}};
  const save = () => writeFileSync(join(work, 'commands.json'), JSON.stringify(commands));
  say('the compiler and its headers');
  clang(work, modules, folders);
  save();
  const toolchain = await toolchainOf(work);

  say('the precompiled header');
  const precompiled = await toolchain.tool(await inner(toolchain, [
    ...flags, '-O0', '-fpch-instantiate-templates', '-x', 'c++-header', 'usr/answer.hpp', '-o', '-'], {}), {});
  if (!precompiled.ok) throw new Error(`the precompiled header failed: ${precompiled.output}`);
  writeFileSync(join(work, 'answer.pch'), precompiled.bytes);
  precompile(work, commands.native.compile, PRECOMPILED.replaceAll('/usr/t', root));
  const files = {'answer.pch': precompiled.bytes, answer: {'judged.cpp': ''}};
  for (const [name, level] of [['checked', '-O0'], ['fast', '-O2']])
    commands[name] = await inner(toolchain, [
      ...flags, level, '-include-pch', 'answer.pch', '-Xclang', '-fno-validate-pch', '-Werror=return-type',
      '-Werror=unused-value', '-Wno-error=unused-result', '-ferror-limit=5', '-fno-caret-diagnostics',
      '-c', 'answer/judged.cpp', '-o', '-'], files);
  save();

  say("the grader's program");
  const grader = new Uint8Array(readFileSync(join(build, 'lessons/libpage_grader.a')));
  const page = await toolchain.tool(
      ['wasm-ld', '-o', '-', commands.crt, '--whole-archive', 'libpage_grader.a', '--no-whole-archive', ...commands.libraries,
       ...LINK_FLAGS, '--strip-all'], {...await toolchain.libraries(), 'libpage_grader.a': grader});
  if (!page.ok) throw new Error(`the grader's program did not link: ${page.output}`);
  writeFileSync(join(work, 'page_grader.wasm'), page.bytes);
}

/// Writes base.o: the start of a program and these members of the libraries, in one object.
export async function makeBase(work, wanted) {
  const toolchain = await toolchainOf(work), all = await toolchain.libraries(), {crt} = toolchain.commands;
  const files = {[crt]: all[crt]};
  for (const [archive, name] of wanted)
    members(all[archive]).filter((member) => member.name === name)
        .forEach(({bytes}, i) => { files[`${archive}_${i}_${name}`] = bytes; });
  const made = await toolchain.tool(['wasm-ld', '-r', '--strip-debug', '-o', '-', ...Object.keys(files)], files);
  if (!made.ok) throw new Error(`the judge and the library could not be joined: ${made.output}`);
  writeFileSync(join(work, 'base.o'), made.bytes);
}
