import fc from "fast-check";

/**
 * The fields of hostile requests. These values are well-formed until `spoilt` makes them hostile.
 */
export const agentIds = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/);

export const protocols = fc.constantFrom("tcp", "udp");

/** Ports, and now and then an invalid one. */
export const ports = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 65535 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 65536, -1, 0.5, 2 ** 32 + 1, NaN) },
);

/** `<host>:<port>`; some hosts and ports are not acceptable. */
export const endpoints = fc.tuple(
  fc.oneof(
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.domain(),
    fc.stringMatching(/^[A-Za-z0-9._-]{1,300}$/),
  ),
  ports,
).map(([host, port]) => `${host}:${port}`);

/**
 * Eight times in ten the well-formed value, so that a request with one hostile field is rarely
 * refused because of another field. Otherwise any text, or an injection that tries to run
 * `command`.
 */
export function spoilt(
  wellFormed: fc.Arbitrary<string>,
  { command = "id" }: { command?: string } = {},
): fc.Arbitrary<string> {
  const injections = fc.constantFrom(
    `\nPostUp = ${command}`,
    `;${command};`,
    `$(${command})`,
    "\n[Interface]\nPrivateKey = x",
    "\r\n[Peer]\n",
    "\u2028",
    "\0",
    "#",
    "%i",
    " ",
    "}",
  );
  const injected = fc.tuple(wellFormed, injections, fc.nat(60)).map(
    ([text, injection, at]) => text.slice(0, at) + injection + text.slice(at),
  );
  return fc.oneof(
    { weight: 8, arbitrary: wellFormed },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    { weight: 1, arbitrary: injected },
  );
}
