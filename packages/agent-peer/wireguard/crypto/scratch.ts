import { sodium } from "./sodium.ts";

/** The largest UDP payload, and the tag that encryption adds. */
const LARGEST = 65_535 + 16;

/** The buffers that every call works on. Calls are synchronous, so they never overlap. */
export const KEY: number = sodium._malloc(32 + 32 + 32 + LARGEST);
export const NONCE: number = KEY + 32;
export const AD: number = KEY + 64;
export const TEXT: number = KEY + 96;

export function put(pointer: number, bytes: Uint8Array): void {
  sodium.HEAPU8.set(bytes, pointer);
}

/** Copies bytes from the heap. */
export function take(pointer: number, length: number): Uint8Array<ArrayBuffer> {
  return sodium.HEAPU8.slice(pointer, pointer + length) as Uint8Array<
    ArrayBuffer
  >;
}

export function wipe(pointer: number, length: number): void {
  sodium.HEAPU8.fill(0, pointer, pointer + length);
}
