// The chat with a model in the page of lesson 38. A worker (lessons/web/chat_worker.js) runs the lesson's program.
(function () {
  const place = document.getElementById("chat");
  if (!place || !place.dataset.script) return;
  const at = document.currentScript.src;
  const find = (selector) => place.querySelector(selector);
  const [here, tiny, file, state, form, conversation, speed, spoken, stop] =
    [".here", ".tiny", "[type=file]", ".state", ".talk", ".conversation", ".speed", ".spoken", ".talk .stop"].map(find);
  const message = form.elements.message, send = form.querySelector(".go");
  const sizes = (bytes) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} KB` : `${Math.round(bytes / 1e6)} MB`);
  let chat = null;     // {worker, name, size, context}: the model that answers
  let loading = null;  // the model that is being loaded
  let answer = null;   // {id, text}: the answer that is being written
  let messages = 0;

  if (location.protocol === "file:") {  // browsers do not start workers here
    find(".about").textContent = "Browsers do not start programs for a page that is opened from a folder. On a machine with the project, start lessons/book --serve and open this page from there.";
    find(".models").remove();
    return;
  }

  function say(text, bad = false) {
    state.textContent = text;
    state.classList.toggle("bad", bad);
  }

  // ---- models

  /// Loads the model of a file. The conversation goes on with the earlier model until the new one can answer.
  async function open(source, name) {
    if (loading) loading.worker.terminate();
    if (answer) halt();
    const mine = loading = { worker: new Worker(new URL("chat_worker.js", at)), name };
    place.dataset.state = "loading";
    say(`Loading ${name} …`);
    mine.worker.onerror = () => lost(mine, "it could not be loaded");
    mine.worker.onmessage = ({ data }) => receive(mine, data);
    try {
      const bytes = await source();
      mine.size = bytes.size;
      mine.worker.postMessage({ type: "open", script: new URL(place.dataset.script, location.href).href, file: bytes, name });
    } catch (error) {
      lost(mine, error.message);
    }
  }

  async function download() {
    const got = await fetch(place.dataset.tiny);
    if (!got.ok) throw new Error(`the tiny model could not be loaded (${got.status})`);
    return got.blob();
  }

  function ready(mine, context) {
    if (chat) chat.worker.terminate();
    [chat, loading, answer] = [mine, null, null];
    chat.context = context;
    form.hidden = false;
    conversation.textContent = "";
    settle();
    say(`${chat.name} is ready: ${sizes(chat.size)}, context of ${context.toLocaleString("en")} tokens.`);
    message.focus();
  }

  /// The program refused a file: its sentence. An earlier model stays.
  function refused(mine, text) {
    mine.worker.terminate();
    loading = null;
    settle(chat ? "ready" : "refused");
    say(text, true);
  }

  /// The program of a model could not be loaded, or has died.
  function lost(mine, why) {
    const reason = why.replace(/\.+$/, "");
    if (mine === loading) return refused(mine, `The chat's program could not start: ${reason}.`);
    if (mine !== chat) return;
    mine.worker.terminate();
    chat = answer = null;
    settle("failed");
    say(`The chat's program stopped with an error: ${reason}. Start a model again.`, true);
  }

  // ---- messages from the worker

  function receive(mine, data) {
    if (data.type === "failure") return lost(mine, data.text);
    if (mine === loading) {
      if (data.type === "loading") say(`Loading ${mine.name}: ${sizes(data.done)} of ${sizes(data.total)}`);
      if (data.type === "refused") refused(mine, data.text);
      if (data.type === "ready") ready(mine, data.context);
      return;
    }
    if (mine !== chat || !answer || data.id !== answer.id) return;
    if (data.type === "text") write(answer.text, data.text);
    if (data.type === "note") paragraph("note", "", `(${data.text})`);
    if (data.type === "refused") paragraph("bad", "", `The answer ended with an error: ${data.text}. The conversation starts anew.`);
    if (data.type === "speed") tell(data);
    if (data.type === "end") end(data.length);
  }

  function write(node, text) {
    const last = conversation.scrollTop + conversation.clientHeight > conversation.scrollHeight - 40;
    node.append(text);
    if (last) conversation.scrollTop = conversation.scrollHeight;
  }

  /// Appends a paragraph to the conversation, and returns the node for its text.
  function paragraph(kind, who, text) {
    const p = document.createElement("p"), node = document.createElement("span");
    p.className = kind;
    if (who) p.appendChild(document.createElement("b")).textContent = who;
    p.append(node);
    conversation.append(p);
    write(node, text);
    return node;
  }

  function tell({ tokens, speed: rate }) {
    const count = `${tokens} token${tokens === 1 ? "" : "s"}`;
    speed.textContent = rate ? `${count}, ${rate < 100 ? rate.toFixed(1) : Math.round(rate)} tokens per second` : count;
  }

  function end(length) {
    answer.text.textContent = answer.text.textContent.trimEnd();
    if (!answer.text.textContent) answer.text.parentElement.remove();
    spoken.textContent = [...conversation.children].slice(answer.from).map((p) => p.textContent).join(" ");
    say(`${chat.name}: ${length.toLocaleString("en")} of ${chat.context.toLocaleString("en")} tokens of the context are used.`);
    answer = null;
    settle();
  }

  // ---- what the reader does

  /// Enables what can be done now.
  function settle(name = answer ? "answering" : "ready") {
    place.dataset.state = name;
    const focused = document.activeElement === stop;
    send.disabled = !chat || Boolean(answer);
    stop.disabled = !answer;
    if (focused && stop.disabled) message.focus();
  }

  /// Returns the options, or null if one is out of range.
  function chosen() {
    const inputs = [...form.querySelectorAll(".choices input")];
    for (const input of inputs) input.toggleAttribute("aria-invalid", !input.checkValidity());
    const wrong = inputs.find((input) => !input.checkValidity());
    if (!wrong) return Object.fromEntries(inputs.map(({ name, value }) => [name, value]));
    const whole = wrong.step === "1" ? "a whole number" : "a number";
    say(`${wrong.closest("label").firstChild.textContent.trim()}: enter ${whole} from ${wrong.min} to ${wrong.max}.`, true);
    wrong.focus();
    return null;
  }

  function submit() {
    const text = message.value.trim();
    if (!chat || answer || loading || !text) return;
    if (text === "/reset") return reset();
    const options = chosen();
    if (!options) return;
    paragraph("user", "You", text);
    answer = { id: ++messages, from: conversation.children.length };
    answer.text = paragraph("model", "Model", "");
    conversation.scrollTop = conversation.scrollHeight;
    message.value = "";
    speed.textContent = "";
    spoken.textContent = "";
    say("The model reads your message …");
    settle();
    chat.worker.postMessage({ type: "say", id: answer.id, text, options });
  }

  function halt() {
    chat.worker.postMessage({ type: "stop" });
  }

  function reset() {
    if (!chat) return;
    chat.worker.postMessage({ type: "reset" });
    answer = null;
    conversation.textContent = speed.textContent = spoken.textContent = message.value = "";
    settle();
    say("The conversation starts anew.");
    message.focus();
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && answer) halt();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.target !== message) return;
    event.preventDefault();
    submit();
  });
  stop.addEventListener("click", halt);
  find(".reset").addEventListener("click", reset);
  tiny.addEventListener("click", () => open(download, "The tiny model"));
  file.addEventListener("change", () => {
    const chosenFile = file.files[0];
    file.value = "";  // the same file can be chosen again
    if (chosenFile) open(() => chosenFile, chosenFile.name);
  });

  // ---- a dropped file

  const hasFile = (event) => [...event.dataTransfer.types].includes("Files");
  here.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    here.classList.add("over");
  });
  here.addEventListener("dragleave", (event) => { if (!here.contains(event.relatedTarget)) here.classList.remove("over"); });
  here.addEventListener("drop", (event) => {
    here.classList.remove("over");
    if (!hasFile(event)) return;
    event.preventDefault();
    const dropped = event.dataTransfer.files[0];
    if (dropped) open(() => dropped, dropped.name);
  });
})();
