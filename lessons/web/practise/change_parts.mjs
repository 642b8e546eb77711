// Makes what the lessons of lessons/web/change.txt need so that a page can compile and link them with a reader's change.
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

import {members} from './archive.mjs';
import {textsOf} from './change_link.mjs';
import {toolchainOf} from './parts.mjs';

/// Returns the names of the listed lessons, such as "06_queries_keys_values".
export function changeable(root) {
  return readFileSync(join(root, 'lessons/web/change.txt'), 'utf8').split('\n').filter((line) => /^\d/.test(line));
}

const partsArchive = (build, slug) => join(build, `lessons/liblesson_${slug.slice(0, 2)}_parts.a`);

/// Returns the options of wasm-ld with which a module fits change.js, and the imports that change.js provides.
function fitting(glue) {
  const exports = [...new Set([...glue.matchAll(/Module\["asm"\]\["(\w+)"\]/g)].map(([, name]) => name))];
  const provided = /^var asmLibraryArg = \{\n([^]*?)\n\};/m.exec(glue);
  if (!provided || !exports.includes('main')) throw new Error('change.js does not have the form that Emscripten 3.1 writes');
  return {
    provided: [...provided[1].matchAll(/"(\w+)":/g)].map(([, name]) => name),
    link: ['--import-undefined', '--strip-debug', '--export-table', '-z', 'stack-size=5242880', '--initial-memory=67108864', '--no-entry',
           '--max-memory=1073741824', ...[...exports, '__main_argc_argv'].map((name) => `--export-if-defined=${name}`)],
  };
}

/// Joins the members of the libraries that the lesson needs in one object.
async function baseOf(toolchain, lesson, source, archive) {
  const made = await toolchain.compile(textsOf(lesson, source), false);
  if (!made.object) throw new Error(`the lesson does not compile for pages: ${made.output}`);
  const all = {...await toolchain.libraries(), ...(archive ? {'libparts.a': archive} : {})};
  const names = [...(archive ? ['libparts.a'] : []), ...lesson.libraries];
  const traced = await toolchain.tool(['wasm-ld', '-t', '-o', 'out.wasm', 'answer.o', ...names, ...lesson.link], {...all, 'answer.o': made.object});
  if (!traced.ok) throw new Error(`the lesson does not link for pages: ${traced.output}`);
  const wanted = new Set([...new TextDecoder().decode(traced.bytes).matchAll(/^(.+\.a)\((.+)\)$/gm)].map(([, from, name]) => `${from}\0${name}`));
  const files = {};
  for (const from of names)
    members(all[from]).filter(({name}) => wanted.has(`${from}\0${name}`)).forEach(({name, bytes}, i) => { files[`${from}_${i}_${name}`] = bytes; });
  // All of the lesson's own parts, so that a change may call any of their functions.
  if (archive) members(archive).forEach(({name, bytes}, i) => { if (!wanted.has(`libparts.a\0${name}`)) files[`parts_${i}_${name}`] = bytes; });
  const joined = await toolchain.tool(['wasm-ld', '-r', '--strip-debug', '-o', '-', ...Object.keys(files)], files);
  if (!joined.ok) throw new Error(`the lesson's parts could not be joined: ${joined.output}`);
  return joined.bytes;
}

/// Makes one lesson's change/NN.json and change/NN.o in `work`, or reuses them. Returns {number, stamp, glue, json, object},
/// with paths of the files.
async function makeLesson({root, build, work, slug, toolchainStamp, open, say}) {
  const number = slug.slice(0, 2), folder = join(root, 'lessons', slug), glue = join(build, 'lessons', slug, 'change.js');
  if (!existsSync(glue)) throw new Error(`${glue} is missing; build change_lessons`);
  const headers = Object.fromEntries(readdirSync(folder).filter((name) => name.endsWith('.hpp')).sort()
      .map((name) => [`lessons/${slug}/${name}`, readFileSync(join(folder, name), 'utf8')]));
  const source = readFileSync(join(folder, 'lesson.cpp'), 'utf8'), code = readFileSync(glue, 'utf8');
  const archive = existsSync(partsArchive(build, slug)) ? readFileSync(partsArchive(build, slug)) : null;
  const own = ['change_parts.mjs', 'change_link.mjs'].map((name) => readFileSync(join(import.meta.dirname, name)));
  const stamp = [toolchainStamp, source, JSON.stringify(headers), code, archive ?? '', ...own].reduce((sum, part) => sum.update(part), createHash('sha256')).digest('hex');
  const json = join(work, 'change', `${number}.json`), object = join(work, 'change', `${number}.o`);
  if (!existsSync(json) || JSON.parse(readFileSync(json)).stamp !== stamp) {
    say(`code that can be changed: ${slug}`);
    const toolchain = await open();
    const libraries = toolchain.commands.libraries.filter((name) => !/judge|standalone/.test(name));
    const lesson = {stamp, slug, source, headers, libraries, ...fitting(code)};
    const base = await baseOf(toolchain, lesson, source, archive && new Uint8Array(archive));
    mkdirSync(join(work, 'change'), {recursive: true});
    writeFileSync(object, base);
    writeFileSync(json, JSON.stringify(lesson));
  }
  return {number, stamp, glue, json, object};
}

/// Makes all listed lessons, and says why one cannot be made. `toolchainStamp` changes with the compiler or the libraries.
export async function makeChanges({root, build, work, toolchainStamp, say}) {
  let toolchain = null;
  const open = () => (toolchain ??= toolchainOf(work)), made = [];
  for (const slug of changeable(root)) {
    try {
      made.push(await makeLesson({root, build, work, slug, toolchainStamp, open, say}));
    } catch (error) {
      say(`the code of ${slug} cannot be changed in its page: ${error.message}`);
    }
  }
  return made;
}
