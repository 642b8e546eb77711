// Search over the book, in the page: the index is a script that is loaded when the box is first entered.
(function () {
  const box = document.getElementById("search");
  const list = document.getElementById("found");
  const up = document.documentElement.dataset.up;
  let entries = null;
  let chosen = -1;

  const plain = (text) => text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "");

  function load() {
    if (entries) return;
    entries = [];
    const script = document.createElement("script");
    script.src = up + "assets/search-index.js";
    script.onload = () => {
      entries = window.BOOK_INDEX.map(([href, page, heading, text]) => ({
        href, page, heading, text, title: plain(page + " " + heading), body: plain(text), names: plain(heading).split(/, |::/),
      }));
      show();
    };
    document.head.append(script);
  }

  // Every word has to be there; a word in a heading counts ten times one in the text, and so do words side by side.
  // The reference has every word many times: it comes first for a whole name, and after the rest otherwise.
  function find(query) {
    const words = plain(query).split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return entries
      .map((entry) => {
        let score = 0;
        for (const word of words) {
          const start = new RegExp("(^|[^\\p{L}\\p{N}])" + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gu");
          const title = (entry.title.match(start) || []).length;
          const body = (entry.body.match(start) || []).length;
          if (title + body === 0) return null;
          score += 10 * title + Math.min(body, 5);
        }
        const phrase = words.join(" ");
        if (words.length > 1 && (entry.title + " " + entry.body).includes(phrase)) score += 20;
        if (entry.href.startsWith("reference/")) {
          return { entry, score: words.every((word) => entry.names.includes(word)) ? score + 40 : score / 100 };
        }
        return { entry, score: entry.title.endsWith(phrase) ? score + 10 : score };
      })
      .filter(Boolean)
      .sort((a, b) => b.score - a.score)
      .slice(0, 12)
      .map((hit) => hit.entry);
  }

  function excerpt(entry) {
    const word = plain(box.value).split(/\s+/).filter(Boolean)[0] || "";
    const at = Math.max(0, entry.body.indexOf(word));
    const start = Math.max(0, entry.text.lastIndexOf(" ", Math.max(0, at - 40)));
    return (start > 0 ? "… " : "") + entry.text.slice(start, start + 130) + "…";
  }

  function show() {
    const found = find(box.value);
    list.replaceChildren();
    chosen = -1;
    found.forEach((entry, i) => {
      const item = document.createElement("li");
      item.id = "found-" + i;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.dataset.href = up + entry.href;
      const title = document.createElement("b");
      title.textContent = entry.page === entry.heading ? entry.page : entry.page + ": " + entry.heading;
      const text = document.createElement("span");
      text.textContent = excerpt(entry);
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
    if (!yes) box.removeAttribute("aria-activedescendant");
  }

  function choose(step) {
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
    } else if (event.key === "Enter" && items.length) {
      go(items[Math.max(chosen, 0)]);
    } else if (event.key === "Escape") {
      box.value = "";
      open(false);
    }
  });
})();
