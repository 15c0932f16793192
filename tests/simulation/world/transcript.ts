import type { Timeline } from "./timeline.ts";

/** What happened, line by line, as a person reads it. */
export class Transcript {
  readonly lines: string[] = [];
  /** Names by which people know random identifiers: `a3` for the artifact of step 3. */
  readonly #names: [id: string, name: string][] = [];

  constructor(private readonly timeline: Timeline) {}

  /** Writes `name` wherever `id` stands from now on. */
  rename(id: string, name: string): void {
    this.#names.push([id, name]);
  }

  step(step: number, words: string): void {
    this.#add(`${String(step).padStart(3)} ${words}`);
  }

  note(words: string): void {
    this.#add(`      ${words}`);
  }

  answer(call: string, status: number, bytes: Uint8Array): void {
    const isError = status >= 400 && bytes.length > 0;
    this.#add(`      ${call} → ${status}${isError ? ` ${codeOf(bytes)}` : ""}`);
  }

  fault(call: string, words: string): void {
    this.#add(`  !!  ${call}: ${words}`);
  }

  #add(text: string): void {
    const seconds = (this.timeline.now / 1000).toFixed(3).padStart(11);
    const readable = this.#names.reduce((line, [id, name]) => line.replaceAll(id, name), text);
    this.lines.push(`${seconds} ${readable}`);
  }
}

/** The word that says most about an error's body. */
function codeOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  try {
    const { error, code, message } = JSON.parse(text);
    return [error?.code ?? error, code, message].find((word) => typeof word === "string" && word) ??
      "";
  } catch {
    return text.slice(0, 40);
  }
}
