// A lesson as WebAssembly on the command line: node lessons/web/node.mjs LESSON.JS [--steps 300 …]. Text goes where
// the lesson prints it; pictures stay in the worker's memory.
import {resolve} from 'node:path';
import {runLesson} from './run_lesson.mjs';

const [script, ...words] = process.argv.slice(2);
const options = {};
for (let i = 0; i < words.length; ++i) {
  const takes = i + 1 < words.length && !words[i + 1].startsWith('--');
  options[words[i].replace(/^--/, '')] = takes ? words[++i] : true;
}
const lesson = runLesson({
  script: resolve(script),
  options,
  onMessage({type, stream, line}) {
    if (type === 'text') (stream === 'out' ? process.stdout : process.stderr).write(line + '\n');
  },
});
process.exitCode = await lesson.code;
