// Searches the book in the page. The index is a script, which is loaded when the box first gets the focus.
(function () {
  const box = document.getElementById("search");
  const list = document.getElementById("found");
  const up = document.documentElement.dataset.up;
  list.tabIndex = -1;  // else browsers put a scrolling list in the tab order
  let entries = null;
  let chosen = -1;

  const KINDS = [/^lessons\/[^#]*(#(?!exercise)|$)|^guide\/glossary/, /^guide\/|^index/, /^gallery\//, /#exercise/, /^reference\//];
  const EXERCISE = 3, REFERENCE = 4;
  const ASKS = /^(?:(?:what|which|who|where|when|why|how|do|does|did|is|are|can|could|should|may|i|we|you|to|a|an|the|meant|by)\s+)+/;
  const script = /([_^])\{([^{}]*)\}/g;
  const plain = (text) => text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "").replace(script, "$1$2").replace(script, "$1$2");

  // Returns the topic words of a question: "What is a tensor?" is about a tensor.
  function about(query) {
    const text = plain(query).replace(/[?!.,\s]+$/, "").trim(), left = text.replace(ASKS, "");
    return (left === text ? text : left.replace(/\s+(?:means?|do|does|works?)$/, "")).split(/\s+/).filter(Boolean);
  }
  const starting = (word) => new RegExp("(^|[^\\p{L}\\p{N}])" + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gu");

  function load() {
    if (entries) return;
    entries = [];
    const script = document.createElement("script");
    script.src = up + "assets/search-index.js";
    script.onload = () => {
      entries = window.BOOK_INDEX.map(([href, page, heading, text]) => ({
        href, page, heading, text, kind: KINDS.findIndex((kind) => kind.test(href)), title: plain(page + " " + heading),
        head: plain(heading), body: plain(text), names: plain(heading).split(/[,;] |::/),
        own: plain(heading.replace(/^.*::/, "")).split(/, /),  // without the class of a member
      }));
      show();
    };
    document.head.append(script);
  }

  // Every word must occur. Entries with the words in their heading come first. Among these entries, and among the others, the
  // order is: lessons and glossary, guide, gallery, exercises, reference. The heading of an exercise counts only if the query
  // names exercises, and the heading of a reference entry only if it is the name, since the reference contains every word
  // many times. Within a kind, a word in a heading counts ten times as much as a word in the text; a phrase counts twenty.
  function find(query) {
    const words = about(query), starts = words.map(starting), phrase = words.join(" ");
    if (!words.length) return [];
    const hits = entries
      .map((entry) => {
        let score = 0;
        for (const start of starts) {
          const title = (entry.title.match(start) || []).length;
          const body = (entry.body.match(start) || []).length;
          if (title + body === 0) return null;
          score += 10 * title + Math.min(body, 5);
        }
        if (words.length > 1 && (entry.title + " " + entry.body).includes(phrase)) score += 20;
        const whole = entry.names.includes(phrase) || entry.head === phrase;
        return { entry, named: named(entry, words, starts), score: whole ? score + 40 : score };
      })
      .filter(Boolean)
      .sort((a, b) => b.named - a.named || a.entry.kind - b.entry.kind || b.score - a.score);
    let names = hits.length && hits[0].entry.kind !== REFERENCE ? 3 : 12;  // many classes can have a member with this name
    return hits.filter((hit) => !hit.named || hit.entry.kind !== REFERENCE || names-- > 0).slice(0, 12);
  }

  function named(entry, words, starts) {
    if (entry.kind === REFERENCE)
      return words.every((word) => entry.names.includes(word)) && words.some((word) => entry.own.includes(word));
    if (entry.kind === EXERCISE && !words.some((word) => /^\d+\.\d+$|^exercise/.test(word))) return false;
    return starts.every((start) => entry.title.match(start)) && starts.some((start) => entry.head.match(start));
  }

  // An entry that is found by its name is shown from its start, any other from the first word of the query. Scripts contain
  // no spaces at which the excerpt could be cut.
  function excerpt({ entry: { text, body }, named }) {
    const at = named ? 0 : Math.max(0, body.search(starting(about(box.value)[0])));
    const start = at < 40 ? 0 : text.lastIndexOf(" ", at - 40) + 1;
    const space = text.indexOf(" ", start + 130), end = space < 0 ? text.length : space;
    return (start > 0 ? "… " : "") + (end < text.length ? text.slice(start, end).replace(/[.,;:]$/, "") + "…" : text.slice(start));
  }

  // Sets c_{t} and e^{s_{j}} with subscripts and superscripts.
  function set(parent, text) {
    for (let at = text.search(/[_^]\{/); at >= 0; at = text.search(/[_^]\{/)) {
      let end = at + 2;
      for (let depth = 1; depth > 0 && end < text.length; end += 1) depth += { "{": 1, "}": -1 }[text[end]] || 0;
      const inside = document.createElement(text[at] === "_" ? "sub" : "sup");
      set(inside, text.slice(at + 2, end - 1));
      parent.append(text.slice(0, at), inside);
      text = text.slice(end);
    }
    parent.append(text);
  }

  function show() {
    const found = find(box.value);
    list.replaceChildren();
    chosen = -1;
    found.forEach((hit, i) => {
      const entry = hit.entry;
      const item = document.createElement("li");
      item.id = "found-" + i;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.dataset.href = up + entry.href;
      const title = document.createElement("b");
      title.textContent = entry.page === entry.heading ? entry.page : entry.page + ": " + entry.heading;
      const text = document.createElement("span");
      set(text, excerpt(hit));
      item.append(title, text);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); go(item); });
      list.append(item);
    });
    if (!found.length && box.value.trim() && entries.length) {
      const item = document.createElement("li");
      item.setAttribute("role", "option");
      item.setAttribute("aria-disabled", "true");
      item.textContent = "Nothing found";
      list.append(item);
    }
    open(list.children.length > 0);
  }

  function open(yes) {
    list.hidden = !yes;
    box.setAttribute("aria-expanded", String(yes));
    if (yes) return;
    box.removeAttribute("aria-activedescendant");
    chosen = -1;
  }

  function choose(step) {
    if (list.hidden) return;
    const items = [...list.querySelectorAll("[data-href]")];
    if (!items.length) return;
    chosen = (chosen + step + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
    items[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", items[chosen].id);
  }

  const go = (item) => { location.href = item.dataset.href; open(false); };

  box.addEventListener("focus", load);
  box.addEventListener("input", () => { load(); show(); });
  box.addEventListener("blur", () => open(false));
  box.addEventListener("keydown", (event) => {
    const items = list.querySelectorAll("[data-href]");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && items.length && !list.hidden) {
      go(items[Math.max(chosen, 0)]);
    } else if (event.key === "Escape") {
      box.value = "";
      open(false);
    }
  });
})();
