// The page's compiler, in a worker that stays alive between checks: the first compilation takes longer than later ones.
//
//     {base, manifest}                   first message; no answer
//     {check, exercise, answer, pieces}  answers {type: 'compiled', check, module}, or {type: 'verdict', check, verdict}
//     {change, lesson, source}           answers {type: 'changed', module}, or {type: 'changed', line, sentence}
//     {verdict: check, outcome}          answers {type: 'verdict', check, verdict}: page_grader's verdict on an outcome
//
// In between it posts {type: 'progress', phase, done, total}, and {type: 'failure', check, message} if it cannot go on.
import {LESSON, linkLesson, textsOf} from './change_link.mjs';
import {AGAIN, Downloads} from './download.mjs';
import {ask} from './host.mjs';
import {Toolchain} from './toolchain.mjs';

let started = null; // promise of {toolchain, grader}

async function start({base, manifest}) {
  const downloads = new Downloads(base, manifest);
  let total = await downloads.missing(manifest.first), done = 0;
  const count = (bytes) => {
    done += bytes;
    if (total) self.postMessage({type: 'progress', phase: 'download', done, total});
  };
  // The package fetches its files from beside its program; they are stored compressed.
  const network = self.fetch.bind(self);
  self.fetch = async (resource, options) => {
    const name = String(resource.url ?? resource).split('/').at(-1);
    if (!(name in manifest.files)) return network(resource, options);
    const type = name.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream';
    return new Response(await downloads.stream(name, count), {headers: {'content-type': type}});
  };
  const kept = new Map();
  const file = (name) => {
    if (!kept.has(name)) {
      if (!manifest.first.includes(name)) downloads.missing([name]).then((bytes) => { total += bytes; });
      kept.set(name, downloads.bytes(name, count));
    }
    return kept.get(name);
  };
  const grader = file('page_grader.wasm').then((bytes) => WebAssembly.compile(bytes));
  const loads = Promise.all([grader, file('answer.pch'), file('base.o')]);
  const {runLLVM} = await import(new URL('clang/bundle.mjs', base).href)
      .catch(() => { throw new Error(`the compiler could not be downloaded; ${AGAIN}`); });
  try {
    await runLLVM(null); // loads the compiler
    await loads;
  } catch (error) { // the browser's own sentence about a broken program says only "Failed to fetch"
    throw new Error(downloads.trouble || error.message);
  }
  self.postMessage({type: 'progress', phase: 'start', done: 0, total: 0});
  const libraries = async () => Object.fromEntries(await Promise.all(
      manifest.commands.archives.map(async (name) => [name, await file(name)])));
  return {toolchain: new Toolchain({runLLVM, commands: manifest.commands, file, libraries}), grader: await grader, file};
}

async function compiled({toolchain, grader}, {check, exercise, answer, pieces}) {
  const verdict = (outcome) => ({type: 'verdict', check, verdict: ask(grader, 'verdict', {exercise, ...outcome})});
  const texts = ask(grader, 'texts', {exercise, answer, pieces});
  if (!texts.files) return verdict(texts);
  self.postMessage({type: 'progress', phase: 'compile', done: 0, total: 0});
  const made = await toolchain.compile(texts.files, exercise.fast);
  if (!made.object) return verdict({compiler: made.output});
  self.postMessage({type: 'progress', phase: 'link', done: 0, total: 0});
  const linked = await toolchain.link(made.object);
  return linked.module ? {type: 'compiled', check, module: linked.module} : verdict({compiler: linked.output});
}

/// Builds a lesson with the reader's change. `change` is the lesson's number, and `lesson` its change/NN.json.
async function changed({toolchain, grader, file}, {change, lesson, source}) {
  const refused = (outcome) => {
    const {line, sentence} = ask(grader, 'verdict', {exercise: LESSON, ...outcome});
    return {type: 'changed', line, sentence};
  };
  const base = await file(`change_${change}.o`);
  self.postMessage({type: 'progress', phase: 'compile', done: 0, total: 0});
  const made = await toolchain.compile(textsOf(lesson, source), false);
  if (!made.object) return refused({compiler: made.output});
  self.postMessage({type: 'progress', phase: 'link', done: 0, total: 0});
  const linked = await linkLesson(toolchain, lesson, made.object, base);
  return linked.module ? {type: 'changed', module: linked.module} : refused({compiler: linked.output});
}

self.onmessage = async ({data}) => {
  const check = data.check ?? data.verdict;
  try {
    if (data.base) {
      started = start(data);
      started.catch(() => {}); // the first check reports it
      return;
    }
    const tools = await started;
    if (data.change) {
      self.postMessage(await changed(tools, data));
      return;
    }
    self.postMessage(data.outcome ? {type: 'verdict', check, verdict: ask(tools.grader, 'verdict', data.outcome)}
                                  : await compiled(tools, data));
  } catch (error) {
    self.postMessage({type: 'failure', check, message: String(error.message ?? error)});
  }
};
