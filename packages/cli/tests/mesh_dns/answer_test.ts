import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
// @ts-types="@types/dns-packet"
import * as dns from "dns-packet";
import fc from "fast-check";
import { answerTo } from "../../mesh/dns/answer.ts";

const BUILDER = ["10.213.0.2", "fd00::2"];

function addressesOf(name: string): readonly string[] | null {
  return name === "builder" ? BUILDER : null;
}

function query(question: Partial<dns.Question>, others: dns.Packet = {}): Buffer {
  return dns.encode({
    type: "query",
    id: 4711,
    flags: dns.RECURSION_DESIRED,
    questions: [{ type: "A", name: "builder.mesh.internal", ...question }],
    ...others,
  });
}

/** The error code of an answer, and its records. */
function read(answer: Buffer | null) {
  if (answer === null) return null;
  const { id, type, answers = [] } = dns.decode(answer);
  assert.deepEqual([id, type], [4711, "response"]);
  return {
    rcode: answer[3]! & 15,
    records: answers.map((record) => {
      const { name, ttl, type, data } = record as dns.StringAnswer;
      return [name, ttl, type, data];
    }),
  };
}

Deno.test("A and AAAA of a peer → its address, as the question spells the name, for 5 seconds", () => {
  for (const name of ["builder.mesh.internal", "BuilDer.Mesh.INTERNAL"]) {
    for (const [type, address] of [["A", BUILDER[0]], ["AAAA", BUILDER[1]]] as const) {
      assert.deepEqual(read(answerTo(query({ name, type }), addressesOf)), {
        rcode: 0,
        records: [[name, 5, type, address]],
      });
    }
  }
});

Deno.test("other types and the domain itself → no records; unknown names → NXDOMAIN; all else → REFUSED", () => {
  for (
    const [question, rcode] of [
      [{ type: "MX" }, 0],
      [{ type: "TXT" }, 0],
      [{ type: "UNKNOWN_65280" as dns.RecordType }, 0],
      [{ name: "mesh.internal" }, 0],
      [{ name: "writer.mesh.internal" }, 3],
      [{ name: "a.builder.mesh.internal" }, 3],
      [{ name: "x".repeat(63) + ".mesh.internal" }, 3],
      [{ name: "builder" }, 5],
      [{ name: "builder.internal" }, 5],
      [{ name: "buildermesh.internal" }, 5],
      [{ name: "example.com" }, 5],
      [{ name: "." }, 5],
      [{ name: "version.bind", type: "TXT", class: "CH" }, 5],
      [{ class: "CH" }, 5],
    ] as const
  ) {
    const answer = read(answerTo(query(question), addressesOf));
    assert.deepEqual(answer, { rcode, records: [] }, JSON.stringify(question));
  }
});

Deno.test("a query with EDNS → the answer has it, too; without → it has not", () => {
  const additionals: dns.Answer[] = [{
    type: "OPT",
    name: ".",
    udpPayloadSize: 4096,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }];
  const typesIn = (answer: Buffer | null) =>
    dns.decode(answer!).additionals!.map(({ type }) => type);
  assert.deepEqual(typesIn(answerTo(query({}, { additionals }), addressesOf)), ["OPT"]);
  assert.deepEqual(typesIn(answerTo(query({}), addressesOf)), []);
});

Deno.test("no header, and an answer → nothing; no query, or none with one question → an error", () => {
  const good = query({});
  const changed = (at: number, value: number) => {
    const bytes = Buffer.from(good);
    bytes[at] = value;
    return bytes;
  };
  for (const bytes of [Buffer.alloc(0), good.subarray(0, 11), changed(2, 0x80)]) {
    assert.equal(answerTo(bytes, addressesOf), null);
  }
  const question = { type: "A", name: "builder.mesh.internal" } as const;
  for (
    const [what, bytes, rcode] of [
      ["a status query", changed(2, 0x10), 4],
      ["no question", changed(5, 0), 1],
      ["two questions", query({}, { questions: [question, question] }), 1],
      ["65,535 questions", changed(4, 0xff), 1],
      ["65,535 further records", changed(10, 0xff), 1],
      ["an answer inside", changed(7, 1), 1],
      ["a cut name", good.subarray(0, 20), 1],
      ["a cut type", good.subarray(0, good.length - 3), 1],
      ["a pointer to itself", name([0xc0, 12]), 1],
      ["two pointers in a circle", name([0xc0, 14, 0xc0, 12]), 1],
      ["a pointer to the header", name([0xc0, 0]), 1],
      ["a label of 64 bytes", name([64, ...Array(64).fill(97), 0]), 1],
      ["a name of 300 bytes", name([...Array(5).fill([60, ...Array(60).fill(97)]).flat(), 0]), 1],
      ["a label with a dot", name([12, ...Buffer.from("builder.mesh"), 8, ...INTERNAL, 0]), 1],
      ["bytes that are no UTF-8", name([2, 0xff, 0xfe, 4, ...MESH, 8, ...INTERNAL, 0]), 1],
      ["64 KiB", Buffer.concat([good, Buffer.alloc(65_535 - good.length)]), 1],
    ] as const
  ) {
    assert.deepEqual(read(answerTo(bytes, addressesOf)), { rcode, records: [] }, what);
  }
});

const [MESH, INTERNAL] = [Buffer.from("mesh"), Buffer.from("internal")];

/** A query for the A record of this name. */
function name(bytes: readonly number[]): Buffer {
  return Buffer.concat([query({}).subarray(0, 12), Buffer.from([...bytes, 0, 1, 0, 1])]);
}

Deno.test("random bytes, after a good header or not, and damaged queries → an answer or none, no failure", () => {
  const good = query({});
  const bytes = fc.uint8Array({ maxLength: 600 });
  const damaged = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 4 })
    .map((changes) => {
      const bytes = Buffer.from(good);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
  const withHeader = bytes.map((bytes) => Buffer.concat([good.subarray(0, 12), bytes]));
  fc.assert(
    fc.property(fc.oneof(bytes, withHeader, damaged), (query) => {
      const answer = answerTo(query, addressesOf);
      if (answer === null) return;
      const { type, answers = [] } = dns.decode(answer);
      assert.equal(type, "response");
      assert.ok(answer.length <= 512 && answers.length <= 1);
    }),
    { numRuns: 2000 },
  );
});
