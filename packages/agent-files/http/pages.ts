/** Yields all pages of a list. A page before the last may be empty. */
export async function* everyPage<
  Page extends { readonly next_cursor: string | null },
>(
  readPage: (cursor: { readonly cursor?: string }) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let page = await readPage({});
  yield page;
  while (page.next_cursor !== null) {
    page = await readPage({ cursor: page.next_cursor });
    yield page;
  }
}
