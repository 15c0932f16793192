/** By caller: when the turn of the last message so far is over. Only while there is one. */
const turns = new Map<string, Promise<void>>();

/**
 * Resolves when it is the turn of a caller's message. Messages of one caller begin one by one, each
 * in a round of the event loop of its own: what the SDK does with one takes longer than most
 * requests, and those of others come in between. Nobody waits for what a message waits for.
 */
export function takeTurn(callerId: string): Promise<void> {
  const before = turns.get(callerId) ?? Promise.resolve();
  const over = before.then(nextRound);
  turns.set(callerId, over);
  void over.then(() => {
    if (turns.get(callerId) === over) turns.delete(callerId);
  });
  return before;
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
