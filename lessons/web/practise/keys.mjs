// The sentence about an editor's keys, with the names that they have on this device.
import { element } from "./elements.mjs";

const device = `${navigator.platform} ${navigator.userAgent}`;
const apple = /Mac|iPhone|iPad|iPod/.test(device);
// An iPad says that it is a Mac, but a Mac has no touch screen.
const touch = /Android|iPhone|iPad|iPod/.test(device) || (/Mac/.test(device) && navigator.maxTouchPoints > 1);
const OF_KEYBOARDS = ["Tab", "Escape", "Control", "Meta", "Alt"]; // keys that the keyboard on a touch screen lacks

/// Returns the paragraph about the keys of the editor in `host`. `does` completes "Ctrl-Enter …". On a phone it names keys
/// only if there is a mouse, or once a key is pressed that the phone's own keyboard lacks.
export function keysOf(host, does) {
  const all = `${apple ? "Cmd" : "Ctrl"}-Enter ${does}. Tab indents. To leave the editor, press Escape, then Tab.`;
  const keys = element("p", { className: "keys", textContent: all });
  if (!touch || matchMedia("(any-pointer: fine)").matches) return keys;
  keys.textContent = "Your text is stored in this browser as you type.";
  const show = ({ key }) => {
    if (!OF_KEYBOARDS.includes(key)) return;
    keys.textContent = all;
    host.removeEventListener("keydown", show, true);
  };
  host.addEventListener("keydown", show, true);
  return keys;
}
