import { ApiError } from '@offshoot/contract/errors'
import { AgentRefused } from '../../fleet/agent-failure.ts'
import { feedFromArchive } from '../../fleet/archive-calls.ts'
import type { DatabasesContext } from './databases-context.ts'
import { agentOfDatabase } from './model/agent-of-database.ts'
import type { Reached } from './model/tunnel.ts'
import { runInDatabase } from './run-in-database.ts'

/** Milliseconds to replay a day of WAL. */
export const RECOVER_MS = 900_000
/** Installed by templates/postgres-16. */
const RECOVER = '/usr/local/lib/offshoot-postgres/recover'
/** Folder of a server that runs. */
const RUN = '/run/offshoot-postgres'

/**
 * Replays the WAL of an archive in a VM whose server is held. Two calls run at the same time: the guest's recovery asks for
 * files, and the agent serves them from the archive.
 * @param from the sandbox on the same host that has the archive
 * @param target `end`: everything that the archive has, along the latest timeline
 * @returns for `end`: the last line of the newest timeline's history, which says where the recovery ended. Before it, the
 *   time of the last transaction as the server writes it into its log, if there was one
 * @throws ApiError 409, and as the agent answers
 */
export async function recover(
  { fleet, log }: Pick<DatabasesContext, 'fleet' | 'log'>,
  made: Reached,
  from: string,
  target: Date | 'end',
  requestId: string,
): Promise<string> {
  const agent = agentOfDatabase(fleet, made)
  const subject = { id: made.id, workspaceId: made.workspace_id, requestId }
  const over = new AbortController()
  const refused = Promise.withResolvers<never>()
  refused.promise.catch(() => undefined)
  const feeding = feedFromArchive(agent, subject, from, over.signal).catch((err: unknown) => {
    if (over.signal.aborted) return
    log.warn({ req_id: requestId, database: made.id, err }, 'archive not read to its end')
    if (!(err instanceof AgentRefused)) return
    refused.reject(
      new ApiError('conflict', { detail: 'a part of the archive cannot be read at present' }, { cause: err }),
    )
  })
  try {
    const options = { timeoutMs: RECOVER_MS, requestId }
    // A recovery that never gets the file that it asked for would wait until its time is over.
    const { exitCode, stdout, stderr } = await Promise.race([
      runInDatabase(fleet, made, commandFor(target), options),
      refused.promise,
    ])
    if (exitCode === 0) return stdout
    log.warn({ req_id: requestId, database: made.id, stderr: stderr.slice(-2000) }, 'recovery failed')
    throw new ApiError('conflict', { detail: reasonOf(stderr) })
  } finally {
    over.abort()
    await feeding
  }
}

function commandFor(target: Date | 'end'): string {
  if (target !== 'end') return `${RECOVER} '${postgresTime(target)}'`
  // A disk has the script of the template's version at its time. Without a time, PostgreSQL has no target. After an earlier
  // recovery the newest data are on a later timeline. A second run of this command must not touch a server that runs.
  const script = `${RUN}/recover-all`
  const edits = ['s/recovery_target_timeline=current/recovery_target_timeline=latest/', '/^rm -rf /s/ [$]log / /']
  const edit = `sed ${edits.map((each) => `-e '${each}'`).join(' ')} ${RECOVER} > ${script}`
  const until = `sed -n 's/.*last completed transaction was at log time //p' ${RUN}/recovery.log`
  const history = `tail -n 1 "$(ls /var/lib/postgresql/data/pg_wal/*.history | tail -n 1)"`
  return `[ -e ${RUN}/held ] && ${edit} && sh ${script} '' && ${until} && ${history} && rm ${RUN}/recovery.log`
}

/** PostgreSQL's settings accept no abbreviated time zone such as `Z`. */
function postgresTime(time: Date): string {
  return time.toISOString().replace('T', ' ').replace('Z', '+00')
}

function reasonOf(stderr: string): string {
  return stderr.includes('recovery ended before configured recovery target')
    ? 'the archive of the database does not reach that time'
    : 'the database could not be brought to that time'
}
