/** Below every id. */
const FIRST = '00000000-0000-0000-0000-000000000000'

/** Yields all rows of a statement that reads them in the order of their ids, however many there are. @param size of a page */
export async function* inPages<Row extends { readonly id: string }>(
  read: (afterId: string, limit: number) => Promise<readonly Row[]>,
  size = 100,
): AsyncGenerator<readonly Row[]> {
  for (let page = await read(FIRST, size); page.length > 0;) {
    yield page
    page = page.length < size ? [] : await read(page.at(-1)?.id ?? FIRST, size)
  }
}
