/** With this delay, a caller that retries as soon as it is refused sends one request a second. */
const HELD_MILLISECONDS = 1000;

/** How many refusals are held at a time, because each takes memory. All others leave at once. */
const MAX_HELD = 256;

let held = 0;

/**
 * Resolves after a second, when a refusal may be sent. Without this delay, a caller that retries as
 * fast as it is refused would cost as much as if it were served.
 */
export async function holdRefusal(): Promise<void> {
  if (held === MAX_HELD) return;
  held++;
  await new Promise((resolve) => setTimeout(resolve, HELD_MILLISECONDS));
  held--;
}
