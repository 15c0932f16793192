/** The line that shows a transfer's progress: a pure function of its state. */
import type { Progress } from "../../agent-files/transfer/put.ts";
import { inBytes, plain } from "../../command/terminal/output.ts";

const DOING = {
  upload: "uploading",
  verify: "verifying",
  download: "downloading",
};
const [LONGEST_BAR, SHORTEST_BAR] = [24, 8];
const SHORTEST_NAME = 8;

export interface ShownProgress extends Progress {
  readonly name: string;
  /** Null while it is not known. */
  readonly bytesPerSecond: number | null;
  /** The width of the terminal. */
  readonly columns: number;
}

/** Fits the terminal's width: leaves out the least important facts, and shortens a long name. */
export function progressLine(progress: ShownProgress): string {
  // The last column stays empty: some terminals would begin a new line.
  const columns = progress.columns - 1;
  const { phase, bytes, size } = progress;
  const part = size === 0 ? 1 : Math.min(1, bytes / size);
  const percent = `${Math.floor(part * 100)}%`.padStart(4);
  const name = plain(progress.name);
  const facts = [
    `  ${inBytes(bytes)}`,
    rateOf(progress),
    remainingOf(progress),
  ];
  // Leave out the bytes first, then the rate, then the remaining time.
  for (let least = 0; least <= facts.length; least++) {
    const tail = `${percent}${facts.slice(least).join("")}`;
    const room = columns - `${DOING[phase]}    ${tail}`.length;
    const nameRoom = Math.min(
      widthOf(name),
      Math.max(SHORTEST_NAME, room - LONGEST_BAR),
    );
    const bar = Math.min(LONGEST_BAR, room - nameRoom);
    if (bar < SHORTEST_BAR) continue;
    return `${DOING[phase]} ${shortened(name, nameRoom)}  ${barOf(part, bar)} ${tail}`;
  }
  return shortened(`${percent.trim()} ${name}`, Math.max(4, columns));
}

function barOf(part: number, columns: number): string {
  const done = Math.round(part * columns);
  return "█".repeat(done) + "░".repeat(columns - done);
}

function rateOf({ bytesPerSecond }: ShownProgress): string {
  return bytesPerSecond === null ? "" : `  ${inBytes(Math.round(bytesPerSecond))}/s`;
}

function remainingOf({ bytes, size, bytesPerSecond }: ShownProgress): string {
  if (bytesPerSecond === null || bytesPerSecond <= 0 || bytes >= size) {
    return "";
  }
  return `  ${durationOf(Math.ceil((size - bytes) / bytesPerSecond))} left`;
}

/** `0:07`, `12:30`, `2:05:00`. */
export function durationOf(seconds: number): string {
  const [minutes, hours] = [
    Math.floor(seconds / 60),
    Math.floor(seconds / 3600),
  ];
  const two = (number: number) => String(number % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

/** The text, or its beginning with an ellipsis, in at most `columns`. */
function shortened(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [shown, width] = ["", 1];
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) break;
    shown += character;
  }
  return `${shown}…`;
}

/** How many columns a text takes at most: East Asian characters and pictures take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    width += character.codePointAt(0)! < 0x1100 ? 1 : 2;
  }
  return width;
}
