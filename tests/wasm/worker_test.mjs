// Lessons in a worker, as a page would run them. Usage: node --test worker_test.mjs, with TAPESTRY_WASM_LESSONS the
// folder lessons/ of a build for WebAssembly.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runLesson} from '../../lessons/web/run_lesson.mjs';

const script = (slug) => `${process.env.TAPESTRY_WASM_LESSONS}/${slug}/lesson.js`;

async function run(options, slug = '05_pooling') {
  const messages = [];
  const lesson = runLesson({script: script(slug), options, onMessage: (message) => messages.push(message)});
  const code = await lesson.code;
  return {code, of: (type) => messages.filter((message) => message.type === type), messages};
}

test('a lesson meets its targets, and says how', async () => {
  const {code, of, messages} = await run({});
  assert.equal(code, 0);
  const out = of('text').filter(({stream}) => stream === 'out').map(({line}) => line);
  assert.match(out[0], /^05_pooling: attention is a weighted average$/);
  assert.ok(out.includes('All targets are met.'));
  assert.ok(out.every((line) => !/[\r\x1b]/.test(line)));

  const judged = of('figure').filter(({target}) => target !== '');
  assert.ok(judged.length > 0);
  for (const figure of judged) {
    assert.equal(figure.verdict, 'ok');
    assert.equal(typeof figure.value, 'number');
    assert.ok(out.some((line) => line.includes(figure.what)));
  }

  const pictures = of('picture');
  assert.ok(pictures.length > 0);
  for (const {name, svg} of pictures) {
    assert.match(name, /^[^/].*\.svg$/);
    assert.match(svg, /^(<\?xml[^>]*>\s*)?<svg[\s\S]*<\/svg>\s*$/);
  }
  assert.equal(new Set(pictures.map(({name}) => name)).size, pictures.length);  // each once: none was rewritten
  assert.equal(messages.at(-1).type, 'end');
});

test('progress comes as it is made, and ends at its total', async () => {
  const {code, of} = await run({steps: 20, 'no-questions': true}, '11_bahdanau');
  assert.equal(code, 1);  // 20 steps are too few for its targets
  const progress = of('progress');
  assert.ok(progress.length >= 1);
  let last = 0;
  for (const {done, total, loss, speed, unit} of progress) {
    assert.ok(done > last || done === 1 || last === total);
    last = done;
    assert.equal(total, 20);
    assert.ok(loss > 0 && speed >= 0 && unit.length > 0);
  }
  assert.equal(last, 20);
  assert.ok(of('figure').some(({verdict}) => verdict === 'MISSED'));
});

test('a seed is a seed, and a wrong option ends like on a command line', async () => {
  const text = async (options) => {
    const {of} = await run(options);
    return of('text').filter(({stream}) => stream === 'out').map(({line}) => line).join('\n');
  };
  const smoke = {smoke: true, seed: 7};
  assert.equal(await text(smoke), await text(smoke));
  assert.notEqual(await text(smoke), await text({...smoke, seed: 8}));
  const {code, of} = await run({steps: -1});
  assert.equal(code, 2);
  assert.ok(of('text').some(({stream, line}) => stream === 'err' && line.includes('--steps')));
});

test('a lesson can be stopped, and one that is not there fails', async () => {
  const lesson = runLesson({script: script('11_bahdanau'), options: {steps: 100000}});
  setTimeout(() => lesson.stop(), 500);
  assert.equal(await lesson.code, null);
  await assert.rejects(runLesson({script: script('none')}).code, /none/);
});
