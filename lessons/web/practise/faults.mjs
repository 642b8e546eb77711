// A worker of build.mjs: compiles the texts of exercises and runs their judges.
//
//     {job: 'solution', exercise}  → {members}: what the solution needs of the libraries
//     {job: 'faults', exercise}    → {faults, works, unseen}: the findings of the known wrong answers at each recorded seed,
//                                    and the sentences of those that pass
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {parentPort, workerData} from 'node:worker_threads';

import {ask, run} from './host.mjs';
import {native} from './native.mjs';

const SEEDS = ['1', '2', '3'];
const {work} = workerData;
const commands = JSON.parse(readFileSync(join(work, 'commands.json'))).native;
const grader = await WebAssembly.compile(readFileSync(join(work, 'page_grader.wasm')));

/// Builds an answer's program. Returns native()'s result.
async function built(exercise, answer) {
  const {files} = ask(grader, 'texts', {exercise, answer, pieces: exercise.engine});
  const made = await native(work, commands, files, exercise.fast);
  if (!made.module) throw new Error(`${exercise.id} does not build for pages: ${made.output}`);
  return made;
}

/// Returns the results of an answer's judge by seed.
async function findings(exercise, answer) {
  const {module} = await built(exercise, answer);
  return Object.fromEntries(SEEDS.map((seed) => [seed, run(module, {args: [seed]})]));
}

async function faults(exercise) {
  const solved = await findings(exercise, exercise.solution);
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
    const results = await findings(exercise, text);
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
    parentPort.postMessage(job === 'solution' ? {members: (await built(exercise, exercise.solution)).members} : await faults(exercise));
  } catch (error) {
    parentPort.postMessage({error: String(error.message ?? error)});
  }
});
