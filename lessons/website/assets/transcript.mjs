// Converts the lines of a running lesson to blocks of a page: sections, text, pictures, and questions that hide the later
// output until the reader answers them. The program itself does not wait.
const SECTION = /^\d+\. (.+)$/, QUESTION = /^  \? (.+)$/, CHOICE = /^    ([a-e])  (.+)$/;
const ANSWER = /^  \? ([^:]+?): ([a-e]), (.+)$/, PICTURE = /^  picture: (?:.*\/)?([\w.-]+\.svg)$/;
const MAPS = /^  maps: /;  // the page has this file from the recorded run
const HEATMAP_KEY = 48;  // boxes of the colour scale, each ten pixels wide

const make = (parent, tag, attributes, text) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

export class Transcript {
  /// Appends the blocks to `place`, and calls `onSection(title)` at the start of each section.
  constructor(place, onSection = () => {}) {
    // The questions of the recorded run, in the lesson's order: an answer there counts as an answer here.
    this.twins = [...document.querySelectorAll('.question[data-right]')].filter((question) => !place.contains(question));
    this.place = place;
    this.onSection = onSection;
    this.pictures = new Map();  // name: SVG
    this.maps = new Map();      // name: names and values of a heatmap
    this.shown = new Map();     // name: figure on the page
    this.questions = [];
    this.into = place;          // the parent of new blocks: `place`, or the box that a question hides
    this.lines = null;          // lines of the open block of text
    this.first = true;
    place.textContent = '';
  }

  line(text) {
    if (this.first) {  // the page shows the title already
      this.first = false;
      return;
    }
    const section = SECTION.exec(text), picture = PICTURE.exec(text), answer = ANSWER.exec(text);
    const choice = CHOICE.exec(text), question = QUESTION.exec(text);
    if (section) {
      this.close();
      make(this.into, 'h3', {}, section[1]);
      this.onSection(section[1]);
    } else if (picture) {
      this.drawn(picture[1]);
    } else if (MAPS.test(text)) {
      this.close();
    } else if (answer && this.answered(answer)) {
      this.close();
    } else if (question) {
      this.close();
      this.ask(question[1]);
    } else if (choice && this.asking && this.asking.open) {
      this.choice(choice[1], choice[2]);
    } else {
      this.text(text);
    }
  }

  // ---- text

  text(line) {
    if (!this.lines && !line.trim()) return;
    if (this.asking) this.asking.open = false;
    if (!this.lines) {
      this.lines = [];
      this.block = make(this.into, 'pre', {class: 'printed', tabindex: '0'});
    }
    this.lines.push(line);
    this.block.textContent = dedent(this.lines);
  }

  close() {
    if (this.lines && !this.lines.some((line) => line.trim())) this.block.remove();
    this.lines = this.block = null;
  }

  // ---- pictures

  map(name, map) {
    this.maps.set(name, map);
  }

  picture(name, svg) {
    this.pictures.set(name.split('/').pop(), svg);
    const there = this.shown.get(name.split('/').pop());
    if (there && !this.maps.has(name.split('/').pop())) paint(there, svg);  // a new drawing of the same picture
  }

  drawn(name) {
    const svg = this.pictures.get(name);
    if (svg && this.lines) {  // remove the drawing in characters, from its title on
      const title = new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('title');
      const at = this.lines.findLastIndex((line) => title && line.trim() === title.textContent.trim());
      if (at >= 0) this.lines.length = at;
      this.block.textContent = dedent(this.lines);
    }
    this.close();
    const map = this.maps.get(name);
    if (map) {
      this.shown.set(name, window.Heatmaps.draw(this.into, name, map));
      return;
    }
    const figure = make(this.into, 'figure', {'data-picture': name});
    this.shown.set(name, figure);
    if (svg) paint(figure, svg);
  }

  // ---- questions

  ask(text) {
    // Consecutive questions share one hidden box, which follows the last of them.
    const together = this.asking && !this.asking.held.hasChildNodes() ? this.asking.held : null;
    const box = make(this.into, 'section', {class: 'question', 'aria-label': 'Question'});
    if (together) together.before(box);
    make(box, 'p', {class: 'asks'}, text);
    const list = make(box, 'ol'), why = make(box, 'div', {class: 'why', 'aria-live': 'polite', tabindex: '-1'});
    const held = together || make(this.into, 'div', {class: 'held', hidden: ''});
    const asking = {box, list, why, held, choices: [], open: true, said: null, answer: null, twin: this.twins[this.questions.length]};
    const skip = make(make(box, 'p', {class: 'open'}), 'button', {type: 'button', class: 'quiet'}, 'Show without answering');
    skip.addEventListener('click', () => {
      this.say(asking, '-');
      why.focus();
    });
    this.questions.push(asking);
    this.asking = asking;
  }

  choice(letter, text) {
    const asking = this.asking;
    asking.choices.push(text);
    const button = make(make(asking.list, 'li'), 'button', {type: 'button', 'data-letter': letter, 'aria-pressed': 'false'});
    make(button, 'b', {}, letter);
    make(button, 'span', {}, text);
    button.addEventListener('click', () => this.say(asking, letter));
    this.into = asking.held;
    const said = asking.twin && asking.twin.dataset.said;
    if (said && asking.twin.querySelectorAll('[data-letter]').length === asking.choices.length) this.say(asking, said);
  }

  say(asking, letter) {
    asking.said = asking.box.dataset.said = letter;
    for (const button of asking.list.querySelectorAll('[data-letter]')) {
      button.setAttribute('aria-pressed', String(button.dataset.letter === letter));
      button.classList.toggle('said', button.dataset.letter === letter);
    }
    asking.box.querySelector('.open').hidden = true;
    if (asking.twin && !asking.twin.dataset.said && asking.twin.querySelectorAll('[data-letter]').length === asking.choices.length)
      asking.twin.querySelector(letter === '-' ? '.open button' : `[data-letter="${letter}"]`).click();
    const group = this.questions.filter((other) => other.held === asking.held);
    if (group.every((other) => other.said)) asking.held.hidden = false;
    this.verdict(asking);
  }

  answered([, name, letter, rest]) {
    const place = letter.charCodeAt(0) - 97;
    const asking = this.questions.find((q) => !q.answer && q.choices[place] && rest.startsWith(q.choices[place] + '.'));
    if (!asking) return false;
    asking.answer = {letter, why: rest.slice(asking.choices[place].length + 1).trim()};
    asking.box.setAttribute('aria-label', `Question: ${name}`);
    this.verdict(asking);
    return true;
  }

  /// Shows the verdict when both the reader's answer and the run's answer are known.
  verdict({box, list, why, said, answer}) {
    why.textContent = '';
    if (!said) return;
    if (!answer) {
      make(why, 'p', {}, this.over ? 'This run ended before it reached the answer.' : 'The answer appears when the run reaches it.');
      return;
    }
    const {letter} = answer;
    list.querySelector(`[data-letter="${letter}"]`).classList.add('right');
    const words = said === '-' ? `The answer is ${letter}.` : said === letter ? `${letter} is right.` : `You chose ${said}; the answer is ${letter}.`;
    make(why, 'p', {class: said === letter ? 'verdict good' : 'verdict'}, words);
    make(why, 'p', {}, answer.why);
    box.dataset.right = letter;
  }

  /// Ends the transcript: questions without an answer from the run say so.
  end() {
    this.close();
    this.over = true;
    for (const asking of this.questions) this.verdict(asking);
  }
}

function dedent(lines) {
  const margin = Math.min(...lines.filter((line) => line.trim()).map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(Number.isFinite(margin) ? margin : 0)).join('\n').trimEnd();
}

/// Draws an SVG. A heatmap keeps a white background in the dark scheme, since its numbers are coloured for white.
function paint(figure, text) {
  const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  if (svg.nodeName !== 'svg') return;
  const width = Number(svg.getAttribute('width'));
  const heat = svg.querySelectorAll('rect[width="10"]').length >= HEATMAP_KEY;
  figure.className = (heat ? 'on-paper' : 'drawing') + (width > 560 ? ' wide-drawing' : ' small-drawing');
  const title = svg.querySelector('title');
  figure.textContent = '';
  const scroll = make(figure, 'div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': title ? title.textContent : 'A picture'});
  if (title) svg.setAttribute('aria-label', title.textContent);
  scroll.append(document.importNode(svg, true));
}
