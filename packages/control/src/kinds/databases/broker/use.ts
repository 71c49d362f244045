import type pg from 'pg'

/** One request's way to the databases of one server. */
export type Use = <T>(database: string, work: (client: pg.ClientBase) => Promise<T>) => Promise<T>
