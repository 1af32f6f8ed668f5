// Listens to `/v1/events`. `EventSource` cannot send a token, and a token in an address would be
// written into logs, so the stream is read by `fetch`.

/** Takes a stream of server-sent events apart, in whatever pieces it comes. */
export class EventReader {
  #rest = "";
  #name = "";
  #data = [];
  #onEvent;
  #onRetry;

  constructor(onEvent, onRetry) {
    this.#onEvent = onEvent;
    this.#onRetry = onRetry;
  }

  push(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#take(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  #take(line) {
    if (line === "") {
      if (this.#data.length) this.#onEvent(this.#name || "message", this.#data.join("\n"));
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "retry" && /^\d+$/.test(value)) this.#onRetry(Number(value));
  }
}

/** One listener at a time, which comes back by itself. */
export class Stream {
  /** Called with `connecting`, `open`, `waiting`, `refused` and what there is to say. */
  onState = () => {};
  onEvent = () => {};
  #abort = null;
  #timer = 0;
  #retry = 2000;
  #failures = 0;

  /** Listens to another address; what was told before no longer counts. */
  open(query, token) {
    this.close();
    const abort = new AbortController();
    this.#abort = abort;
    this.#listen(query, token, abort);
  }

  close() {
    this.#abort?.abort();
    this.#abort = null;
    clearTimeout(this.#timer);
  }

  async #listen(query, token, abort) {
    this.onState("connecting");
    let reason = "the connection ended";
    try {
      const headers = { accept: "text/event-stream" };
      if (token) headers.authorization = `Bearer ${token}`;
      const response = await fetch(`/v1/events?${query}`, {
        headers, signal: abort.signal, cache: "no-store", credentials: "omit",
      });
      if (response.ok) {
        this.#failures = 0;
        this.onState("open");
        await this.#read(response.body);
      } else {
        const problem = await response.json().catch(() => ({}));
        reason = problem.detail ?? `status ${response.status}`;
        if ([400, 401, 403].includes(response.status)) {
          this.onState("refused", { status: response.status, reason });
          return;
        }
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      reason = "the service cannot be reached";
    }
    if (abort.signal.aborted) return;
    // Twice as long each time, and not all pages at the same moment.
    const pause = Math.min(this.#retry * 2 ** this.#failures, 30000) * (0.75 + Math.random() / 2);
    this.#failures = Math.min(this.#failures + 1, 6);
    this.onState("waiting", { reason });
    this.#timer = setTimeout(() => this.#listen(query, token, abort), pause);
  }

  async #read(body) {
    const reader = new EventReader(
      (name, data) => this.onEvent(name, JSON.parse(data)),
      (milliseconds) => { this.#retry = Math.max(250, milliseconds); });
    const parts = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await parts.read();
      if (done) return;
      reader.push(value);
    }
  }
}
