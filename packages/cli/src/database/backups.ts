import type { DatabaseBackup } from '@offshoot/contract/database'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { age, bytes, type Style } from '../frame/output.ts'
import { confirmLoss } from '../frame/questions.ts'
import type { Agreement } from '../frame/remove.ts'
import { pick, resolve } from '../frame/resolve.ts'

interface Options extends Agreement {
  readonly rm?: string
}

const STYLES: Readonly<Record<DatabaseBackup['verified'], Style>> = { pending: 'yellow', ok: 'green', failed: 'red' }

export const run: Action<Options> = async (cli, line) => {
  const { rm, yes = false } = line.options
  const api = await cli.api()
  const id = await resolve(api, 'database', operand(line, 0))
  const { out } = cli
  if (rm !== undefined) {
    const backup = await backupOf(cli, id, rm)
    await confirmLoss(cli, `this deletes the backup ${backup}`, yes)
    await api.request('DELETE /v1/databases/{id}/backups/{backup}', { path: { id, backup }, signal: cli.signal })
    return out.line(backup)
  }
  const backups = await backupsOf(cli, id)
  out.list(line.options, backups, {
    id: (each) => each.id,
    headings: ['ID', 'MADE BY', 'SIZE', 'VERIFIED', 'CREATED', 'AGE'],
    row: (each) => [
      each.id,
      each.origin === 'daily' ? 'schedule' : 'you',
      bytes(each.size_bytes),
      out.style(STYLES[each.verified], each.verify_error ?? each.verified),
      each.created_at,
      age(each.created_at),
    ],
    empty: 'There are no backups yet. Make one: offshoot db backup',
  })
}

/** The id of the backup that begins with this text. */
export async function backupOf(cli: Cli, id: string, text: string): Promise<string> {
  return pick('backup', `offshoot db backups ${id}`, text, await backupsOf(cli, id)).id
}

async function backupsOf(cli: Cli, id: string): Promise<DatabaseBackup[]> {
  const request = { path: { id }, query: { limit: 1000 }, signal: cli.signal }
  return (await cli.api()).list('GET /v1/databases/{id}/backups', request).all()
}
