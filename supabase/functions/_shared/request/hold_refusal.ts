/** A caller that retries as soon as it is refused then sends one request a second. */
const HELD_MILLISECONDS = 1000;

/** Others are refused at once: a request that is held takes memory. */
const MAX_HELD = 256;

let held = 0;

/**
 * Resolves when a refusal may leave: a second later. A caller who goes on as fast as it is refused
 * would otherwise cost the others as much as if it were served.
 */
export async function holdRefusal(): Promise<void> {
  if (held === MAX_HELD) return;
  held++;
  await new Promise((resolve) => setTimeout(resolve, HELD_MILLISECONDS));
  held--;
}
