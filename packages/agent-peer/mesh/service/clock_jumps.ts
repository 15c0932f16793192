const EVERY_MS = 2000;
/** A timer this late means a suspension. A busy thread can also delay it, which does no harm. */
const JUMP_MS = 10_000;

/** Calls back after this machine was suspended. Returns a function that stops this. */
export function onClockJump(notify: () => void): () => void {
  let expected = Date.now() + EVERY_MS;
  const timer = setInterval(() => {
    const hasJumped = Date.now() - expected > JUMP_MS;
    expected = Date.now() + EVERY_MS;
    if (hasJumped) notify();
  }, EVERY_MS);
  return () => clearInterval(timer);
}
