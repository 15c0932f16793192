/** Far longer than any step takes, even on a busy machine. */
const PATIENCE_MILLISECONDS = 60_000;
const PAUSE_MILLISECONDS = 100;

/** Repeats `ask` until `wanted` accepts the answer, and returns it. Throws after a minute. */
export async function askUntil<Answer>(
  wanted: (answer: Answer) => boolean,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const end = Date.now() + PATIENCE_MILLISECONDS;
  while (Date.now() < end) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
  }
  throw new Error(`No answer within ${PATIENCE_MILLISECONDS / 1000} s was the one waited for.`);
}
