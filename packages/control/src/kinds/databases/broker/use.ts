import type pg from 'pg'

/** Gives one request a connection to one of the server's databases, for a number of milliseconds. */
export type Use = <T>(database: string, limitMs: number, work: (client: pg.ClientBase) => Promise<T>) => Promise<T>
