/** How names and texts that other agents have chosen are shown to a language model. */
import assert from "node:assert/strict";
import * as ofClient from "../../packages/cli/mcp/escapes.ts";
import * as ofService from "../../supabase/functions/_shared/operations/mcp/escapes.ts";

const { escapedJson, visible } = ofService;

/** Characters that are invisible, or that change how the text around them is shown. */
const HIDDEN: Readonly<Record<string, readonly [first: number, last: number]>> = {
  "C0 controls": [0x00, 0x1f],
  "delete and C1 controls": [0x7f, 0x9f],
  "the soft hyphen": [0xad, 0xad],
  "the grapheme joiner": [0x34f, 0x34f],
  "the Arabic letter mark": [0x61c, 0x61c],
  "Hangul fillers": [0x115f, 0x1160],
  "zero-width characters and direction marks": [0x200b, 0x200f],
  "line and paragraph separators": [0x2028, 0x2029],
  "bidirectional embeddings and overrides": [0x202a, 0x202e],
  "the word joiner, isolates and other format characters": [0x2060, 0x206f],
  "the half-width filler": [0xffa0, 0xffa0],
  "variation selectors": [0xfe00, 0xfe0f],
  "the byte order mark": [0xfeff, 0xfeff],
  "interlinear annotations": [0xfff9, 0xfffb],
  "private use": [0xe000, 0xf8ff],
  "tags": [0xe0000, 0xe007f],
  "further variation selectors": [0xe0100, 0xe01ef],
};

function textOf(codePoint: number): string {
  return `a${String.fromCodePoint(codePoint)}b`;
}

/** The planes in which Unicode 17 has characters: the others are unassigned, or for private use. */
const ASSIGNED_PLANES = [0, 1, 2, 3, 14];

/**
 * Code points between two letters, 512 of them in each text: all of the planes that have
 * characters, and one text of the start and one of the end of each other plane.
 */
function* textsOfCodePoints(): Generator<string> {
  for (let first = 0; first <= 0x10ffff; first += 0x200) {
    const isAtAnEnd = [0, 0xfe00].includes(first & 0xffff);
    if (!ASSIGNED_PLANES.includes(first >> 16) && !isAtAnEnd) continue;
    yield Array.from({ length: 0x200 }, (_, index) => textOf(first + index)).join("");
  }
}

Deno.test("escapedJson() of every character → ASCII in place of what is hidden; the same value when parsed", () => {
  for (const text of textsOfCodePoints()) {
    assert.deepEqual(JSON.parse(escapedJson({ [text]: text })), { [text]: text });
  }
  for (const [what, [first, last]] of Object.entries(HIDDEN)) {
    for (let codePoint = first; codePoint <= last; codePoint++) {
      assert.match(escapedJson(textOf(codePoint)), /^"a\\[\x21-\x7e]+b"$/, what);
      assert.match(visible(textOf(codePoint)), /^a(?:\\u[0-9a-f]{4}){1,2}b$/, what);
    }
  }
});

Deno.test("escapedJson() and visible() of visible characters → unchanged", () => {
  for (const text of ["das große Haus", "日本語", "שלום", "🏠", "e\u0301", "a b", "\"'/"]) {
    assert.equal(escapedJson(text), JSON.stringify(text));
    assert.equal(visible(text), text);
  }
});

// The tests above call only the service's functions; this one shows that the client's are equal.
Deno.test("the service and the command line → escape the same", () => {
  for (const text of textsOfCodePoints()) {
    assert.equal(ofClient.escapedJson(text), ofService.escapedJson(text));
    assert.equal(ofClient.visible(text), ofService.visible(text));
  }
});
