/** By caller: resolves when the turn of the latest message is over. Removed after that. */
const turns = new Map<string, Promise<void>>();

/**
 * Resolves when it is the turn of a caller's message. Messages of one caller start one at a time,
 * each in its own turn of the event loop. The SDK works on one message for longer than most
 * requests take, and this lets requests of other callers run in between. Only the start is limited:
 * a message does not wait for the end of an earlier one.
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
