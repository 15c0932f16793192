/** A sentence of the documentation that people rely on, and the tests that fail if it is broken. */
export interface KeptPromise {
  /** The page's path, from the project's folder. */
  readonly page: string;
  /** As it stands in the page, without line breaks and without the addresses of links. */
  readonly sentence: string;
  readonly tests: readonly NamedTest[];
}

export interface NamedTest {
  readonly file: string;
  /** The beginning of the test's name, as written there: so it may contain `${…}`. */
  readonly name: string;
}
