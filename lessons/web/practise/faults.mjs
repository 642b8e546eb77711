// A worker of build.mjs: compiles the texts of exercises and runs their judges.
//
//     {job: 'solution', exercise}  → {members}: what the solution, compiled as in a page, needs of the libraries
//     {job: 'faults', exercise}    → {faults, works, unseen}: the findings of the known wrong answers at each recorded seed,
//                                    and the sentences of those that pass
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {parentPort, workerData} from 'node:worker_threads';

import {ask, run} from './host.mjs';
import {native} from './native.mjs';
import {membersFor, toolchainOf} from './parts.mjs';

const SEEDS = ['1', '2', '3'];
const {work} = workerData;
const toolchain = await toolchainOf(work);
const grader = await WebAssembly.compile(readFileSync(join(work, 'page_grader.wasm')));
const objectFile = (exercise) => join(work, 'solution', `${exercise.id}.o`);

const textsOf = (exercise, answer) => ask(grader, 'texts', {exercise, answer, pieces: exercise.engine}).files;

async function solution(exercise) {
  const made = await toolchain.compile(textsOf(exercise, exercise.solution), exercise.fast);
  if (!made.object) throw new Error(`${exercise.id} does not compile for pages: ${made.output}`);
  writeFileSync(objectFile(exercise), made.object);
  return {members: await membersFor(toolchain, made.object)};
}

/// Returns the results of a program's judge by seed.
async function findings(exercise, program) {
  const {module, output} = await native(work, toolchain.commands.native, program);
  if (!module) throw new Error(`${exercise.id} does not build for pages: ${output}`);
  return Object.fromEntries(SEEDS.map((seed) => [seed, run(module, {args: [seed]})]));
}

async function faults(exercise) {
  const solved = await findings(exercise, {object: readFileSync(objectFile(exercise))});
  for (const seed of SEEDS) {
    const {finding, trap, errors} = solved[seed];
    if (!finding || JSON.parse(finding).fault) {
      const why = finding ? JSON.parse(finding).fault.what : trap ?? errors;
      return {faults: {}, unseen: [], works: `The solution of this exercise does not pass in a page: ${why}.`};
    }
  }
  const known = [...exercise.wrong.map(({sentence, text}) => [sentence, text]), ...(exercise.symptom ? [[exercise.symptom, exercise.given]] : [])];
  const found = Object.fromEntries(SEEDS.map((seed) => [seed, []])), unseen = [];
  for (const [sentence, text] of known) {
    const results = await findings(exercise, {texts: textsOf(exercise, text), fast: exercise.fast});
    for (const seed of SEEDS) {
      const {finding} = results[seed], fault = finding && JSON.parse(finding).fault;
      if (fault) found[seed].push([sentence, JSON.stringify({seed: Number(seed), right: [], unit: '', tried: [], fault})]);
      else if (finding && !unseen.includes(sentence)) unseen.push(sentence);
    }
  }
  return {faults: found, works: '', unseen};
}

parentPort.on('message', async ({job, exercise}) => {
  try {
    parentPort.postMessage(job === 'solution' ? await solution(exercise) : await faults(exercise));
  } catch (error) {
    parentPort.postMessage({error: String(error.message ?? error)});
  }
});
