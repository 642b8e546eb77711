// Makes what the exercises in the book's pages need, in BUILD/practise: the compiler, the exercises, and the scripts.
//
//     node build.mjs ROOT BUILD MODULES [LESSON…]
//
// ROOT is the project, BUILD its build for WebAssembly (target page_practise), MODULES the folder with node_modules. With
// lessons, "06 07", only their exercises are made. The results of an exercise are reused while neither its texts nor the
// toolchain change.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {join, resolve} from 'node:path';
import {Worker} from 'node:worker_threads';

import {bundle, bundleChecker} from './bundle.mjs';
import {makeChanges} from './change_parts.mjs';
import {libraries, sampleCommand} from './commands.mjs';
import {ask} from './host.mjs';
import {makeBase, makeParts} from './parts.mjs';

const [root, build, modules, ...lessons] = process.argv.slice(2).map((word, i) => (i < 3 ? resolve(word) : word));
const work = join(build, 'practise_work'), out = join(build, 'practise');
const say = (text) => process.stdout.write(`  ${text}\n`);
const lessonOf = ({path}) => path.slice('practise/'.length).slice(0, 2); // "06"
const hash = (...parts) => parts.reduce((sum, part) => sum.update(part), createHash('sha256')).digest('hex');

/// Returns the project's files below a folder that `keep` accepts, in order.
function filesBelow(folder, keep) {
  return readdirSync(folder, {withFileTypes: true}).sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path, keep) : keep(path) ? [path] : [];
  });
}

/// Returns a hash of everything that the toolchain is made from.
function toolchainHash() {
  const headers = ['core', 'nn', 'optim', 'lessons/grader', 'lessons/kit', '.cmake']
      .flatMap((folder) => filesBelow(join(root, folder), (path) => path.endsWith('.hpp')));
  const ours = readdirSync(import.meta.dirname).filter((name) => /^(bytes|commands|host|native|parts|tar|toolchain)\.mjs$|^package-lock/.test(name))
      .map((name) => join(import.meta.dirname, name));
  return hash(sampleCommand(build), ...[...headers, ...ours, ...libraries(build), join(build, 'lessons/libpage_grader.a')].map((path) => readFileSync(path)));
}

/// Runs jobs in as many workers as there are cores. Calls receive(i, result) when job i has ended.
async function inWorkers(jobs, receive) {
  const todo = jobs.map((job, i) => [job, i]);
  const one = async () => {
    const worker = new Worker(new URL('faults.mjs', import.meta.url), {workerData: {work}});
    try {
      while (todo.length) {
        const [job, i] = todo.shift();
        receive(i, await new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
          worker.postMessage(job);
        }));
        worker.removeAllListeners('error');
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({length: Math.min(availableParallelism(), jobs.length)}, one));
}

/// Returns each exercise's results of `job`. Runs it where the stored result has another stamp, and stores each result at
/// once, so that a build that is interrupted goes on where it was.
async function results(exercises, job, stamps, title) {
  const file = (exercise) => join(work, job, `${exercise.id}.json`);
  mkdirSync(join(work, job), {recursive: true});
  const fresh = (exercise, i) => existsSync(file(exercise)) && JSON.parse(readFileSync(file(exercise))).stamp === stamps[i];
  const stale = exercises.map((exercise, i) => ({exercise, stamp: stamps[i]})).filter(({exercise}, i) => !fresh(exercise, i));
  if (stale.length) say(`${title}: ${stale.length} exercises`);
  let done = 0, last = Date.now();
  await inWorkers(stale.map(({exercise}) => ({job, exercise})), (i, result) => {
    if (result.error) throw new Error(result.error);
    const {exercise, stamp} = stale[i];
    writeFileSync(file(exercise), JSON.stringify({stamp, ...result}));
    ++done;
    if (Date.now() - last < 15_000) return;
    last = Date.now();
    say(`${done} of ${stale.length} (${exercise.id})`);
  });
  return exercises.map((exercise) => JSON.parse(readFileSync(file(exercise))));
}

/// Reads the exercises with the grader's program.
async function readExercises() {
  const sources = {};
  for (const slug of readdirSync(join(root, 'lessons')).filter((name) => /^\d\d_/.test(name)).sort()) {
    const folder = join(root, 'lessons', slug, 'exercises');
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpp')))
      sources[`lessons/${slug}/exercises/${name}`] = readFileSync(join(folder, name), 'utf8');
  }
  const grader = await WebAssembly.compile(readFileSync(join(work, 'page_grader.wasm')));
  const all = ask(grader, 'exercises', sources);
  writeFileSync(join(work, 'exercises.json'), JSON.stringify(all)); // with the wrong answers, for tests/book/write.py
  return all.filter((exercise) => !lessons.length || lessons.includes(lessonOf(exercise)));
}

/// Compresses a file, which takes two minutes for Clang, and returns the path of the result. It is reused while the file's
/// content is the same.
function compressed(path) {
  const to = join(work, 'compressed', `${hash(readFileSync(path))}.zst`);
  if (existsSync(to)) return to;
  mkdirSync(join(work, 'compressed'), {recursive: true});
  execFileSync('zstd', ['-q', '-f', '-19', '-T0', path, '-o', `${to}.part`]);
  renameSync(`${to}.part`, to);
  return to;
}

/// Writes the folder that the book copies, with the compressed files and manifest.json last.
async function writeOut(exercises, changes, version) {
  const next = `${out}_new`;
  rmSync(next, {recursive: true, force: true});
  mkdirSync(join(next, 'exercises'), {recursive: true});
  mkdirSync(join(next, 'clang'));
  const commands = JSON.parse(readFileSync(join(work, 'commands.json')));
  const files = {};
  const add = (name, path) => {
    const stored = `${name.replace(/[^\w.]/g, '_')}.${version.slice(0, 12)}.zst`, from = compressed(path);
    copyFileSync(from, join(next, stored));
    files[name] = {bytes: statSync(from).size, stored};
  };
  for (const name of readdirSync(join(work, 'clang')).filter((file) => !file.endsWith('.mjs'))) add(name, join(work, 'clang', name));
  const first = [...Object.keys(files), 'answer.pch', 'base.o', 'page_grader.wasm'];
  for (const name of first.slice(-3)) add(name, join(work, name));
  for (const name of commands.archives) add(name, commands.paths[name]);
  mkdirSync(join(next, 'change'));
  for (const {number, glue, json, object} of changes) {
    add(`change_${number}.o`, object);
    copyFileSync(json, join(next, 'change', `${number}.json`));
    copyFileSync(glue, join(next, 'change', `${number}.js`));
  }
  copyFileSync(join(work, 'clang/bundle.mjs'), join(next, 'clang/bundle.mjs'));
  for (const lesson of new Set(exercises.map(lessonOf)))
    writeFileSync(join(next, 'exercises', `${lesson}.json`), JSON.stringify(exercises.filter((one) => lessonOf(one) === lesson)));
  await bundle(modules, next);
  await bundleChecker(modules, next);
  const {paths, native, ...shipped} = commands;
  writeFileSync(join(next, 'manifest.json'), JSON.stringify({version, first, files, commands: shipped}));
  rmSync(out, {recursive: true, force: true});
  renameSync(next, out);
  return first.reduce((sum, name) => sum + files[name].bytes, 0);
}

const toolchain = toolchainHash(), stampFile = join(work, 'stamp');
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== toolchain) {
  rmSync(stampFile, {force: true});
  await makeParts({root, build, modules, work, say});
  writeFileSync(stampFile, toolchain);
}
// Answers to these kinds are trained or measured, which takes too long without optimisation.
const exercises = (await readExercises()).map((one) => ({...one, fast: one.fast || ['measure', 'design'].includes(one.kind)}));
// A judge that takes times may accept an answer in Node and refuse it in a browser, which first runs unoptimised code.
const inPage = exercises.filter(({kind, judge}) => kind !== 'speed' && !judge.includes('steady_clock'));
const stamps = inPage.map((exercise) => hash(toolchain, JSON.stringify(exercise)));
const needed = await results(inPage, 'solution', stamps, 'solutions');
const wanted = [...new Map(needed.flatMap(({members}) => members).map((member) => [member.join(), member])).values()].sort();
const baseStamp = hash(toolchain, JSON.stringify(wanted)), baseFile = join(work, 'base_stamp');
if (!existsSync(baseFile) || readFileSync(baseFile, 'utf8') !== baseStamp) {
  say('the judge and the library');
  await makeBase(work, wanted);
  writeFileSync(baseFile, baseStamp);
}
const judged = await results(inPage, 'faults', stamps, 'wrong answers');
const shown = exercises.map((exercise) => {
  const at = inPage.indexOf(exercise), {wrong, ...rest} = exercise;
  const works = at < 0 ? 'A page cannot measure the speed of machine code.' : judged[at].works;
  return {...rest, works, faults: at < 0 ? {} : judged[at].faults};
});
const changes = await makeChanges({root, build, work, toolchainStamp: toolchain, say});
const bytes = await writeOut(shown, changes, hash(baseStamp, ...changes.map(({stamp}) => stamp)));
const refused = shown.filter(({works}) => works);
say(`${shown.length - refused.length} of ${shown.length} exercises can be checked in their pages; the first check downloads ${(bytes / 1e6).toFixed(1)} MB`);
for (const {id, works} of refused) say(`${id}: ${works}`);
inPage.forEach(({id}, i) => judged[i].unseen.forEach((sentence) => say(`${id}: a wrong answer passes in the page: ${sentence}`)));
process.exit(0);
