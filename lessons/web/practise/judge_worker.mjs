// Runs the judge of one answer: {module, seed} → the result of host.mjs's run(). The page ends this worker at the time
// limit, so that an endless loop ends too.
import {run} from './host.mjs';

self.onmessage = ({data: {module, seed}}) => {
  try {
    self.postMessage(run(module, {args: [String(seed)]}));
  } catch (error) { // the module could not be started
    self.postMessage({code: 1, output: '', errors: '', finding: null, trap: String(error.message ?? error)});
  }
};
