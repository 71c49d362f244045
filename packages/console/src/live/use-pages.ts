import type { Offshoot, Route, RouteAnswer, RouteArguments } from '@offshoot/sdk'
import { type InfiniteData, useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'

/** Entries of one page. */
const PAGE = 100

type EntryOf<R extends Route> = RouteAnswer<R> extends readonly (infer T)[] ? T : never

interface Pages<T> {
  readonly query: UseInfiniteQueryResult
  /** Undefined before the first page. */
  readonly rows: readonly T[] | undefined
  /** Reads the next page, if there is one. */
  readonly more: () => void
}

/** A list of any length, read page by page as the user scrolls. */
export function usePages<R extends Route>(
  api: Offshoot,
  route: R,
  queryKey: readonly unknown[],
  input: RouteArguments<R>[0],
): Pages<EntryOf<R>> {
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const given = input as { readonly query?: object } | undefined
      const asked = { ...given, signal, query: { limit: PAGE, ...given?.query, ...(cursor !== null && { cursor }) } }
      const response = await api.fetch(route, ...([asked] as unknown as RouteArguments<R>))
      return {
        rows: (await response.json()) as readonly EntryOf<R>[],
        cursor: nextCursor(response.headers.get('link')),
      }
    },
    getNextPageParam: ({ cursor }) => cursor,
  })
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage, isFetchNextPageError } = query
  const rows = useMemo(
    () => (data as InfiniteData<{ rows: EntryOf<R>[] }> | undefined)?.pages.flatMap((page) => page.rows),
    [data],
  )
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [fetchNextPage, hasNextPage, isFetchingNextPage, isFetchNextPageError])
  return { query, rows, more }
}

/** The cursor in `<address>; rel="next"`. */
function nextCursor(link: string | null): string | null {
  const [, address] = /<([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  return address === undefined ? null : new URL(address, location.origin).searchParams.get('cursor')
}
