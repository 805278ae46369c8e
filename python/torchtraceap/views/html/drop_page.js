/* drop_page.js: sends traces to the server, and shows the report that comes back. */
"use strict";

(() => {
  const form = byId("drop"), files = byId("files"), token = byId("token");
  const state = byId("state"), cancel = byId("cancel"), save = byId("save");
  let running = null;

  async function analyze(traces) {
    if (running || !traces.length) {
      if (!running) state.textContent = "Choose a trace first.";
      return;
    }
    running = new AbortController();
    cancel.disabled = false;
    byId("result").hidden = true;
    state.textContent = `Analyzing ${[...traces].map((file) => file.name).join(", ")}`;
    try {
      state.textContent = await answered(traces, running.signal);
    } catch (error) {
      state.textContent = running.signal.aborted ? "Canceled."
        : `The server does not answer: ${error.message}. Is it still running?`;
    }
    running = null;
    cancel.disabled = true;
  }

  async function answered(traces, signal) {
    const body = new FormData();
    for (const file of traces) body.append("trace", file, file.name);
    const headers = token ? { Authorization: `Bearer ${token.value.trim()}` } : {};
    const route = traces.length > 1 ? "jobs" : "reports";
    const answer = await fetch(`v1/${route}?form=html`, {
      method: "POST", body, headers, signal, credentials: "omit",
    });
    const text = await answer.text();
    if (!answer.ok) {
      if (answer.status === 401) token.focus();
      return problemOf(text) || `${answer.status}: ${text || answer.statusText}`;
    }
    show(text);
    return "";
  }

  /** Of an error of a proxy, which is no JSON: nothing. */
  function problemOf(text) {
    try {
      const { title, detail } = JSON.parse(text);
      return title && detail ? `${title}: ${detail}` : "";
    } catch {
      return "";
    }
  }

  /** The frame is sandboxed: what a trace made of its page cannot read the token. */
  function show(text) {
    byId("report").srcdoc = text;
    if (save.href) URL.revokeObjectURL(save.href);
    save.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
    byId("result").hidden = false;
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    analyze(files.files);
  });
  cancel.addEventListener("click", () => running?.abort());
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (running) return;
    files.files = event.dataTransfer.files;
    analyze(files.files);
  });
})();
