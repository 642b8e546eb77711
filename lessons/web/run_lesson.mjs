// runLesson({script, module, options, files, onMessage}): a lesson in a worker, its messages to you, its exit code as a promise.
//
//     const lesson = runLesson({script: 'lessons/05_pooling/lesson.js', options: {steps: 300},
//                               onMessage: (message) => { … }});
//     lesson.stop();              // at any time: the worker ends, the promise gives null
//     await lesson.code;          // 0 when all targets were met
//
// Messages are those of worker.js, which stands beside this file; `script` is seen from the page, in Node an
// absolute path. `module`, a WebAssembly.Module, takes the place of the script's own (a lesson that a reader has changed).

const inNode = typeof process === 'object' && typeof window === 'undefined' && typeof self === 'undefined';
const worker_threads = inNode ? await import('node:worker_threads') : null;

export function runLesson({script, module, options = {}, files = {}, onMessage = () => {}}) {
  const file = new URL('worker.js', import.meta.url);
  const worker = inNode ? new worker_threads.Worker(file) : new Worker(file);
  let settle;
  const code = new Promise((resolve, reject) => { settle = {resolve, reject}; });
  const receive = (message) => {
    onMessage(message);
    if (message.type === 'end') settle.resolve(message.code);
    if (message.type === 'failure') settle.reject(Object.assign(new Error(message.message), {plain: message.plain}));
    if (message.type === 'end' || message.type === 'failure') worker.terminate();
  };
  const fail = (error) =>
      settle.reject(error instanceof Error ? error : new Error(error.message || 'the worker could not be loaded'));
  if (inNode) {
    worker.on('message', receive);
    worker.on('error', fail);
  } else {
    worker.onmessage = (event) => receive(event.data);
    worker.onerror = fail;
  }
  worker.postMessage({script: inNode ? script : new URL(script, location.href).href, module, options, files});
  return {
    code,
    stop() {
      worker.terminate();
      settle.resolve(null);
    },
  };
}
