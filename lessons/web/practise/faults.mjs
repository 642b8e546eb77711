// A worker of build.mjs: compiles the texts of exercises and runs their judges.
//
//     {job: 'members', exercise}  → {members}: what the solution needs of the libraries
//     {job: 'faults', exercise}   → {faults, works}: the findings of the known wrong answers at each recorded seed
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {parentPort, workerData} from 'node:worker_threads';

import {ask, run} from './host.mjs';
import {membersFor, toolchainOf} from './parts.mjs';

const SEEDS = ['1', '2', '3'];
const {work} = workerData;
const toolchain = await toolchainOf(work);
const grader = await WebAssembly.compile(readFileSync(join(work, 'page_grader.wasm')));

async function object(exercise, answer) {
  const {files} = ask(grader, 'texts', {exercise, answer, pieces: exercise.engine});
  const made = await toolchain.compile(files, exercise.fast);
  if (!made.object) throw new Error(`${exercise.id} does not compile for pages: ${made.output}`);
  return made.object;
}

/// Returns the results of an answer's judge by seed.
async function findings(exercise, answer) {
  const {module, output} = await toolchain.link(await object(exercise, answer));
  if (!module) throw new Error(`${exercise.id} does not link for pages: ${output}`);
  return Object.fromEntries(SEEDS.map((seed) => [seed, run(module, {args: [seed]})]));
}

async function faults(exercise) {
  const solved = await findings(exercise, exercise.solution);
  for (const seed of SEEDS) {
    const {finding, trap, errors} = solved[seed];
    if (!finding || JSON.parse(finding).fault)
      return {faults: {}, works: `The solution of this exercise does not pass in a page: ${finding ? JSON.parse(finding).fault.what : trap ?? errors}.`};
  }
  const known = [...exercise.wrong.map(({sentence, text}) => [sentence, text]), ...(exercise.symptom ? [[exercise.symptom, exercise.given]] : [])];
  const found = Object.fromEntries(SEEDS.map((seed) => [seed, []]));
  for (const [sentence, text] of known) {
    const results = await findings(exercise, text);
    for (const seed of SEEDS) {
      const {finding} = results[seed];
      if (!finding) continue;
      const {fault} = JSON.parse(finding);
      if (fault) found[seed].push([sentence, JSON.stringify({seed: Number(seed), right: [], unit: '', tried: [], fault})]);
    }
  }
  return {faults: found, works: ''};
}

parentPort.on('message', async ({job, exercise}) => {
  try {
    parentPort.postMessage(job === 'members' ? {members: await membersFor(toolchain, await object(exercise, exercise.solution))} : await faults(exercise));
  } catch (error) {
    parentPort.postMessage({error: String(error.message ?? error)});
  }
});
