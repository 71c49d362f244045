/**
 * Holds a base backup of PostgreSQL open while another process copies the cluster's files ("Making a Base Backup Using
 * the Low Level API" in the manual of PostgreSQL). The embedded PostgreSQL has no pg_basebackup.
 *
 * It reads a line of JSON with the connection of a superuser, and prints the first segment of the log that the copy
 * needs. At the next line it ends the backup, and prints the last segment and the content of `backup_label`:
 * `{"segment","label"}`. If its input ends, the backup is abandoned.
 */
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { z } from 'zod'

const connection = z.object({ host: z.string(), port: z.int(), password: z.string() })

const lines = createInterface(process.stdin)[Symbol.asyncIterator]()
const { value: line = '' } = await lines.next()
const client = new Client({ ...connection.parse(JSON.parse(line)), user: 'postgres', database: 'postgres' })
try {
  await client.connect()
  // The slot keeps PostgreSQL from recycling the log, and ends with the connection.
  await client.query('select pg_create_physical_replication_slot($1, true, true)', [`backup_${process.pid}`])
  await tell(`select pg_walfile_name(pg_backup_start('offshoot', true)) as segment, '' as label`)
  // The copy of the log is part of the backup, so the slot must stay until the input ends.
  if (!(await lines.next()).done) {
    await tell('select pg_walfile_name(lsn) as segment, labelfile as label from pg_backup_stop(false)')
    await lines.next()
  }
  await client.end()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
}

async function tell(query: string): Promise<void> {
  const { rows } = await client.query<{ segment: string; label: string }>(query)
  process.stdout.write(`${JSON.stringify(rows[0])}\n`)
}
