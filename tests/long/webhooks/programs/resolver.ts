/** A DNS server on loopback whose answers change from question to question. */
import { createSocket } from "node:dgram";
import { Buffer } from "node:buffer";
import { isIPv4 } from "node:net";

/** The addresses of each name, by question: the first list answers the first one, and so on. */
export type Zone = Readonly<Record<string, readonly (readonly string[])[]>>;

export interface Resolver {
  /** How often a name's IPv4 addresses were asked for. */
  asked(name: string): number;
  close(): void;
}

const TYPES = { 1: "A", 28: "AAAA" } as const;

/** Listens at 127.0.0.1:53. The last list of a name also answers all later questions. */
export async function startResolver(zone: Zone): Promise<Resolver> {
  const counts = new Map<string, number>();
  const socket = createSocket("udp4");
  socket.on("message", (query, { address, port }) => {
    const { name, type, end } = readQuestion(query);
    const question = `${name} ${type}`;
    const turn = counts.get(question) ?? 0;
    counts.set(question, turn + 1);
    const lists = zone[name] ?? [[]];
    const found = lists[Math.min(turn, lists.length - 1)]!
      .filter((one) => TYPES[type as 1 | 28] === (isIPv4(one) ? "A" : "AAAA"));
    const head = Buffer.from([query[0]!, query[1]!, 0x81, 0x80, 0, 1, 0, found.length, 0, 0, 0, 0]);
    const records = found.map((one) => {
      const bytes = addressBytes(one);
      // The name of the question; its type; the class IN; may be kept for 0 seconds.
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
    });
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), port, address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(53, "127.0.0.1", resolve);
  });
  return { asked: (name) => counts.get(`${name} 1`) ?? 0, close: () => socket.close() };
}

function readQuestion(query: Uint8Array): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
  // After the empty label: the type and the class, two bytes each.
  const type = query[at + 1]! * 256 + query[at + 2]!;
  return { name: labels.join(".").toLowerCase(), type, end: at + 5 };
}

function addressBytes(address: string): number[] {
  if (isIPv4(address)) return address.split(".").map(Number);
  const [front = "", back] = address.split("::");
  const words = (text = "") => text === "" ? [] : text.split(":").map((word) => parseInt(word, 16));
  const [left, right] = [words(front), words(back)];
  const middle = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return [...left, ...middle, ...right].flatMap((word) => [word >> 8, word & 255]);
}
