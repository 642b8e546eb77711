// A stand-in for the program of lesson 38's chat: an answer repeats the options and all messages of the conversation. The
// words of a message say what else happens; see tests/book/chat.py.
self.chat = async ({tell}) => {
  const file = {size: 0, have: 0, start: ''}, heard = [];
  let options = '', left = [], stopped = false;
  const busy = (milliseconds) => { for (const end = performance.now() + milliseconds; performance.now() < end;); };
  const module = {
    _chat_reserve: (size) => { file.size = size; return 1; },
    _chat_append: () => {
      if (!file.have) file.start = new TextDecoder().decode(module.bytes.slice(0, 4));
      file.have += module.bytes.length;
      return 1;
    },
    _chat_open: () => {
      const name = new TextDecoder().decode(module.bytes), fine = file.start === 'GGUF' && file.have === file.size;
      if (name === 'slow.gguf') busy(1000);
      if (!fine) tell('refused', `'${name}' starts with ${file.start} and has ${file.have} of ${file.size} bytes`);
      return fine;
    },
    _chat_context: () => 512,
    _chat_length: () => 10 * heard.length,
    _chat_reset: () => { heard.length = 0; },
    _chat_change: (...numbers) => { options = numbers.join(','); return 1; },
    _chat_say: () => {
      const message = new TextDecoder().decode(module.bytes);
      if (message.length > 1000) {
        tell('note', 'The message was not sent.');
        return 0;
      }
      heard.push(message);
      stopped = false;
      left = message.includes('long') ? Array(1000).fill('on ') : `${options}: ${heard.join(' | ')}`.split(/(?<= )/);
      return 1;
    },
    _chat_step: () => {
      if (heard.at(-1).includes('trap')) throw new WebAssembly.RuntimeError('unreachable');
      if (heard.at(-1).includes('refuse')) {
        tell('refused', 'the logits must be numbers, got NaN');
        heard.length = 0;
        return 0;
      }
      busy(20);
      tell('text', left.shift());
      if (stopped) tell('note', 'stopped');
      return left.length > 0 && !stopped;
    },
    _chat_stop: () => { stopped = true; },
  };
  return module;
};
