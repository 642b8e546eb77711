// What a lesson's module looks like to the worker, without a lesson: tests of the page that need no compiler for
// WebAssembly. The seed says what it does; see tests/book/live.py.
self.lesson = async (module) => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="60"><title>A line</title><path d="M0 0L600 60" stroke="#52606d"/></svg>';
  const files = new Map(), given = new Map();
  const FS = {
    analyzePath: () => ({exists: files.size > 0}),
    readdir: () => ['.', ...files.keys()],
    stat: (path) => ({mode: 0, mtime: new Date(0), size: path.length}),
    isDir: () => false,
    lookupPath: () => ({node: {id: 1}}),
    readFile: () => svg,
    mkdirTree: () => {},
    writeFile: (path, bytes) => given.set(path, bytes.length),
  };
  if (module.preRun) module.preRun[0]({ENV: {}});
  const print = (text) => text.split('\n').forEach((line) => module.print(line));
  const busy = (milliseconds) => { for (const end = performance.now() + milliseconds; performance.now() < end;); };

  function callMain(words) {
    const after = (name) => words[words.indexOf(name) + 1];
    if (words.includes('--translate')) return translate(after('--translate'), after('--beam'));
    if (words.includes('--prompt')) return write(after);
    const seed = after('--seed');
    if (words.includes('--steps') && after('--steps') === '7') {
      module.printErr("stand-in: '7' is not a whole number that it takes");
      return 2;
    }
    print('stand-in: a title\n\n1. Questions\n\n  ? Which?\n    a  this\n    b  that\n    c  none\n\n  ? And then?\n    a  more\n    b  less\n    c  neither\n');
    print('  what came      12\n');
    if (seed === '4') throw new WebAssembly.RuntimeError('unreachable');
    print('  ? which one: b, that. It is not this.\n\n  ? and: a, more. It grows.\n\n2. Training');
    for (let done = 1; done <= 50; ++done) {
      module.onProgress({done, total: 50, loss: 1 / done, speed: 1, unit: 'steps'});
      if (seed === '5') busy(400);
    }
    files.set('line.svg', svg);
    print('\n  A line\n  /\\/\\/\\\n  picture: /out/line.svg\n');
    const met = seed !== '2';
    module.onFigure({what: 'answers right', value: met ? 99.5 : 41, unit: '%', target: '≥ 99 %', verdict: met ? 'ok' : 'MISSED'});
    module.onFigure({what: 'loss', value: 0.02, unit: '', target: '≤ 0.1', verdict: 'ok'});
    module.onFigure({what: 'said by the way', value: 3, unit: '', target: '', verdict: ''});
    print(met ? '\nAll targets are met.' : '\nMissed: answers right');
    return met ? 0 : 1;
  }

  // What a trained model's program does (tests/book/trained.py): a translation is the sentence backwards.
  function translate(sentence, beam) {
    if (!given.get('/out/grammar/checkpoint.safetensors')) throw new Error('no weights came');
    const backwards = sentence.split(' ').reverse().join(' ');
    print(`stand-in: a title\n  "marie" is not in the vocabulary; the model gets <unk> instead\n  ${sentence}\n  → ${backwards}\n  → ${beam} ${backwards}  (unknown words copied)`);
    const names = sentence.split(' ');
    const map = {title: 'Where', rows: [...names].reverse(), columns: names, row_axis: 'written', column_axis: 'read', least: 0, most: 1,
                 signed: false, numbers: false, values: names.map((_, r) => names.map((_, c) => (r + c === names.length - 1 ? 0.9 : 0.05)))};
    module.onMap({name: 'translated.svg', map});
    files.set('translated.svg', svg);
    print('  picture: /out/grammar/translated.svg');
    return 0;
  }
  function write(after) {
    if (!given.get('/out/small/checkpoint.safetensors')) throw new Error('no weights came');
    if (after('--preset') !== 'small' || after('--prompt').includes('Ж')) {
      module.printErr("lesson: character 1 of the text, 'Ж', is not among the alphabet's");
      return 2;
    }
    for (let i = 0; i < Number(after('--length')); ++i) {
      if (after('--temperature') === '2') busy(30);
      module.onWritten({text: '0123456789'[i % 10], kept: after('--prompt').length + (i % 20), room: 64});
    }
    return 0;
  }
  return {FS, callMain};
};
