const LENGTHS: Readonly<Record<number, number>> = { 1: 148, 2: 92, 3: 64, 4: 48, 5: 148 };

/** A message of WireGuard, as much of it as is not encrypted. */
export function message(type: number, ...indices: number[]): Uint8Array {
  const datagram = new Uint8Array(LENGTHS[type]!);
  const view = new DataView(datagram.buffer);
  view.setUint32(0, type, true);
  for (const [at, index] of indices.entries()) view.setUint32(4 + 4 * at, index, true);
  return datagram;
}
