/**
 * Copies the PostgreSQL cluster as a base backup, while it runs or while it is stopped. The embedded PostgreSQL has no
 * pg_basebackup, so this follows "Making a Base Backup Using the Low Level API" of its manual.
 */
import { spawn } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import type { DataLayout } from '../base/data-layout.ts'
import { repositoryRoot } from '../base/repository.ts'
import { secret } from '../base/secret.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { HOST } from '../config/configuration.ts'
import { type Entry, textEntry } from './archive.ts'
import { fileEntry, folderEntries } from './folder-entries.ts'

/** What `hold-base-backup.ts` prints. */
const held = z.object({ segment: z.string(), label: z.string() })

const NAME = 'postgres'
/** They belong to a running server. */
const FILES_OF_SERVER =
  /^(postmaster\.(pid|opts)|backup_label|tablespace_map)$|(^|\/)(pgsql_tmp[^/]*|pg_internal\.init.*)$/
/** PostgreSQL fills these folders anew at its start. */
const CONTENTS_OF_SERVER = /^pg_(dynshmem|notify|replslot|serial|snapshots|stat_tmp|subtrans)\//
const WAL_SEGMENT = /^pg_wal\/[0-9A-F]{24}/

/** @returns the port of the cluster's running server; `null` if none runs */
export async function portOfCluster({ postgres }: DataLayout): Promise<number | null> {
  const [pid, , , port] = (await readFile(join(postgres, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  // Another process may have the pid of a killed server.
  const isAlive = (await readlink(`/proc/${Number(pid)}/cwd`).catch(() => null)) === postgres
  return isAlive ? Number(port) : null
}

/** The cluster while no server runs. The caller holds the lock of the data directory. */
export function entriesOfStoppedCluster({ postgres }: DataLayout): AsyncGenerator<Entry> {
  return folderEntries(postgres, NAME, isOfServer)
}

/** The cluster whose server listens at this port. */
export async function* entriesOfRunningCluster(layout: DataLayout, port: number): AsyncGenerator<Entry> {
  const password = (await secret(layout.secrets, 'postgres-superuser')).toString('base64url')
  const entry = `${repositoryRoot}/packages/control/src/hold-base-backup.ts`
  const holder = spawn(process.execPath, [entry], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const complaint = text(holder.stderr)
  const lines = createInterface(holder.stdout)[Symbol.asyncIterator]()
  const answer = async () => {
    const { value, done } = await lines.next()
    if (done) throw new SetupFailure(`PostgreSQL makes no base backup: ${(await complaint).trim()}.`)
    return held.parse(JSON.parse(value))
  }
  holder.stdin.on('error', () => undefined) // its end is reported by `answer`
  try {
    holder.stdin.write(`${JSON.stringify({ host: HOST, port, password })}\n`)
    const { segment: first } = await answer()
    yield* folderEntries(layout.postgres, NAME, (below) => isOfServer(below) || WAL_SEGMENT.test(below))
    holder.stdin.write('\n')
    const { segment: last, label } = await answer()
    yield textEntry(`${NAME}/backup_label`, label)
    for (const segment of await segmentsBetween(layout.postgres, first, last))
      yield* fileEntry(join(layout.postgres, 'pg_wal', segment), `${NAME}/pg_wal/${segment}`)
  } finally {
    holder.stdin.end()
  }
}

function isOfServer(below: string): boolean {
  return FILES_OF_SERVER.test(below) || CONTENTS_OF_SERVER.test(below)
}

async function segmentsBetween(cluster: string, first: string, last: string): Promise<string[]> {
  const names = (await readdir(join(cluster, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name))
  const segments = names.filter((name) => name >= first && name <= last)
  if (!segments.includes(first) || !segments.includes(last))
    throw new Error('PostgreSQL has recycled its log too early')
  return segments.toSorted()
}
