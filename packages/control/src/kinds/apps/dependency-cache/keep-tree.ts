import { randomUUID } from 'node:crypto'
import { APP_TEMPLATE } from '@offshoot/contract/app'
import { buildFromSandbox } from '../../../fleet/build-calls.ts'
import { AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { Deploying } from '../project/deploying.ts'
import type { GuestShell } from '../../sandboxes/guest-shell.ts'
import { lockApp } from '../model/deployment-statements.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import { claimTree, disownOtherTree, disownTree, type TreeRow } from './tree-statements.ts'

const CLEAN_SECONDS = 60
const IS_CHANGED = 3

/**
 * Removes logs and temporary files, so that only the commit and the installed dependencies stay. If installing has
 * changed files of the commit, the tree cannot be reused for another commit.
 */
const CLEAN = `[ -z "$(git status --porcelain --untracked-files=no)" ] || exit ${IS_CHANGED}
find /tmp /var/tmp /root/.npm/_logs -mindepth 1 -delete 2>/dev/null
:`

/**
 * Keeps the dependencies that a build has just installed for the app's later builds. The agent captures the disk of the
 * build's sandbox and boots it again as a template, while the build continues. The memory, which contains the build's
 * variables, is not captured.
 *
 * Control inserts the row before it asks the agent; `settle-trees.ts` updates it with the result. A failure is logged
 * in the build log and does not fail the build.
 */
export async function keepTree(deploying: Deploying, shell: GuestShell, folder: string, key: string): Promise<void> {
  const { log, deadline } = deploying
  try {
    const cleaned = await shell.run({ cmd: CLEAN, cwd: folder, timeout_seconds: CLEAN_SECONDS }, deadline)
    if (cleaned.exitCode === IS_CHANGED) {
      log.say('what was installed is not kept: installing has changed files of the commit')
      return
    }
    const tree = await claim(deploying, shell.sandboxId, key)
    if (tree !== null) await take(deploying, shell, tree)
  } catch (error) {
    deadline.throwIfOver()
    log.say('what was installed could not be kept for the next build')
    deploying.control.log.warn({ err: error, app: deploying.app.id }, 'installed tree not kept')
  }
}

async function claim({ control, app }: Deploying, sandboxId: string, key: string): Promise<TreeRow | null> {
  const { pool } = control.database
  const [sandbox] = await sandboxById(pool, sandboxId)
  if (sandbox === undefined) return null
  return transaction(pool, async (client) => {
    const [locked] = await lockApp(client, app.id)
    if (locked === undefined) return null
    await disownOtherTree(client, app.id, key)
    const [row] = await claimTree(
      client,
      randomUUID(),
      app.id,
      app.workspace_id,
      sandbox.agent_id,
      key,
      control.lock.number,
    )
    return row ?? null
  })
}

async function take({ control, app, log }: Deploying, shell: GuestShell, { id }: TreeRow): Promise<void> {
  const { client, sandboxId, workspaceId, requestId } = shell
  // No start command: only a build starts anything in it.
  const body = { id, name: APP_TEMPLATE, memory: false, start_cmd: '', ready_cmd: '' }
  try {
    await buildFromSandbox(client, { id: sandboxId, workspaceId, requestId }, body)
    log.say('what was installed is kept for the next build')
  } catch (error) {
    // The agent may have started anyway. Then the row is settled by what the agent reports.
    if (!(error instanceof AgentUnreachable && error.mayHaveBegun)) await disownTree(control.database.pool, id)
    control.log.warn({ err: error, app: app.id }, 'installed tree not taken')
    log.say('what was installed could not be kept for the next build')
  }
}
