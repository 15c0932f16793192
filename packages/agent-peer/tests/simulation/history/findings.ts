import type { Timeline } from "../clock/timeline.ts";

const MOST_COMPLAINTS = 20;

/** The transcript, and in it what must not happen. */
export class Findings {
  readonly lines: string[] = [];
  readonly complaints: string[] = [];
  readonly #timeline: Timeline;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  readonly note = (text: string): void => {
    this.lines.push(`${(this.#timeline.now / 1000).toFixed(3).padStart(8)} s  ${text}`);
  };

  readonly complain = (text: string): void => {
    if (this.complaints.length >= MOST_COMPLAINTS) return;
    this.complaints.push(`${(this.#timeline.now / 1000).toFixed(3)} s: ${text}`);
    this.note(`!!! ${text}`);
  };
}
