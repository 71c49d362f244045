import type pg from 'pg'

/** One request's way to the databases of one server, for so many milliseconds. */
export type Use = <T>(database: string, limitMs: number, work: (client: pg.ClientBase) => Promise<T>) => Promise<T>
