const EVERY_MS = 2000;
/** A busy thread is late, too. It does no harm to take that for a suspension. */
const JUMP_MS = 10_000;

/** Calls back after this machine was suspended. Returns what ends that. */
export function onClockJump(notify: () => void): () => void {
  let expected = Date.now() + EVERY_MS;
  const timer = setInterval(() => {
    const hasJumped = Date.now() - expected > JUMP_MS;
    expected = Date.now() + EVERY_MS;
    if (hasJumped) notify();
  }, EVERY_MS);
  return () => clearInterval(timer);
}
