/** Answers DNS queries for the names of peers, such as `builder.mesh.internal`, and no others. */
import { Buffer } from "node:buffer";
// @ts-types="@types/dns-packet"
import * as dns from "dns-packet";
import { MESH_DOMAIN } from "../../../agent-peer/mesh/service/names.ts";

/** The tunnel addresses of the peer with this name (in lower case); null if no peer has it. */
export type AddressesOf = (name: string) => readonly string[] | null;

/** In seconds. A peer keeps its addresses, but may become visible or invisible at any time. */
const TTL = 5;
/** No query about a name is longer, whatever options it has. */
const MOST_BYTES = 4096;
const HEADER_BYTES = 12;
const EDNS_BYTES = 1232;
const RCODE = { noError: 0, formatError: 1, noSuchName: 3, notImplemented: 4, refused: 5 } as const;

type Rcode = typeof RCODE[keyof typeof RCODE];

/**
 * The answer to the bytes of a query; null for bytes that deserve none, such as another answer.
 * Never throws, whatever the bytes are.
 */
export function answerTo(query: Uint8Array, addressesOf: AddressesOf): Buffer | null {
  const bytes = Buffer.from(query);
  if (bytes.length < HEADER_BYTES || (bytes[2]! & 0x80) !== 0) return null;
  if ((bytes[2]! & 0x78) !== 0) return bare(bytes, RCODE.notImplemented);
  const parsed = parse(bytes);
  if (parsed === null) return bare(bytes, RCODE.formatError);
  const { question, hasOptions } = parsed;
  const { rcode, addresses } = find(question, addressesOf);
  const type = question.type as "A" | "AAAA";
  return Buffer.from(dns.encode({
    type: "response",
    id: bytes.readUInt16BE(0),
    // The sender's wish for recursion is repeated (RFC 1035).
    flags: dns.AUTHORITATIVE_ANSWER | (bytes[2]! & 1 ? dns.RECURSION_DESIRED : 0) | rcode,
    questions: [question],
    answers: addresses.map((data) => ({ type, name: question.name, ttl: TTL, data })),
    additionals: hasOptions ? [OPTIONS] : [],
  }));
}

const OPTIONS: dns.OptAnswer = {
  type: "OPT",
  name: ".",
  udpPayloadSize: EDNS_BYTES,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

/** Null for bytes that are no query with exactly one question. */
function parse(
  bytes: Buffer,
): { readonly question: dns.Question; readonly hasOptions: boolean } | null {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10]
    .map((at) => bytes.readUInt16BE(at));
  // Counts are checked before anything is read, so that no query takes long.
  if (bytes.length > MOST_BYTES || questions !== 1 || answers !== 0 || authorities !== 0) {
    return null;
  }
  if (additionals! > 2) return null;
  try {
    const { questions: [question] = [], additionals: further } = dns.decode(bytes);
    if (question === undefined || !isRepeatable(question, bytes)) return null;
    return { question, hasOptions: further?.some(({ type }) => type === "OPT") ?? false };
  } catch {
    return null;
  }
}

/** Whether the question is the same bytes again once it is encoded: resolvers compare them. */
function isRepeatable(question: dns.Question, bytes: Buffer): boolean {
  const again = dns.encode({ questions: [question] });
  return Buffer.compare(
    again.subarray(HEADER_BYTES),
    bytes.subarray(HEADER_BYTES, again.length),
  ) === 0;
}

function find(
  { name, type, class: kind }: dns.Question,
  addressesOf: AddressesOf,
): { readonly rcode: Rcode; readonly addresses: readonly string[] } {
  const asked = name.toLowerCase();
  if (kind !== "IN" || !`.${asked}`.endsWith(`.${MESH_DOMAIN}`)) {
    return { rcode: RCODE.refused, addresses: [] };
  }
  if (asked === MESH_DOMAIN) return { rcode: RCODE.noError, addresses: [] };
  const found = addressesOf(asked.slice(0, -MESH_DOMAIN.length - 1));
  if (found === null) return { rcode: RCODE.noSuchName, addresses: [] };
  const isAsked = (address: string) => type === (address.includes(":") ? "AAAA" : "A");
  return { rcode: RCODE.noError, addresses: found.filter(isAsked) };
}

/** An answer without the question, which could not be read. */
function bare(bytes: Buffer, rcode: Rcode): Buffer {
  const answer = Buffer.alloc(HEADER_BYTES);
  bytes.copy(answer, 0, 0, 2);
  answer[2] = 0x80 | (bytes[2]! & 0x79);
  answer[3] = rcode;
  return answer;
}
