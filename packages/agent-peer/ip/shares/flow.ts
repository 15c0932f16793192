/** What a connection uses of the stack. */
export interface Flow {
  readonly owner: string;
  /** Resets the connection soon. */
  readonly drop: () => void;
  /** 1 if the neighbour opened the connection and it was not dropped, else 0. */
  places: number;
  /** The number of the next byte in order. Null until it is known. */
  next: number | null;
  unread: number;
  unsent: number;
  /** The cost of the packets that wait for earlier ones, at most, and where the last one ends. */
  ahead: number;
  aheadEnd: number;
}

export function emptyFlow(owner: string, drop: () => void): Flow {
  return { owner, drop, places: 0, next: null, unread: 0, unsent: 0, ahead: 0, aheadEnd: 0 };
}

export function heldBy({ unread, unsent, ahead }: Flow): number {
  return unread + unsent + ahead;
}
