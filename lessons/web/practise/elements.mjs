// Small makers of elements.

/// element("p", {className: "state", textContent: "…"}, child, …)
export function element(tag, values = {}, ...children) {
  const made = Object.assign(document.createElement(tag), values);
  made.append(...children);
  return made;
}

export function button(text, className, onClick) {
  const made = element("button", { type: "button", className, textContent: text });
  made.addEventListener("click", onClick);
  return made;
}

/// Offers bytes or a text as a file to the reader.
export function download(name, content, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
