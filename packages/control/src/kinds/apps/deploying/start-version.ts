import { logLine } from '@offshoot/contract/log'
import { z } from 'zod'
import { readListeners } from '../../../fleet/sandbox-calls.ts'
import type { BuildPlan } from '../project/build-plan.ts'
import { DeployFailure, isDeployFailure } from '../project/deploy-failure.ts'
import type { GuestShell } from '../../sandboxes/guest-shell.ts'
import { untilHealthy } from './health.ts'
import { isOfApp } from '../model/app-lines.ts'
import { lastWords } from '../project/last-words.ts'
import type { Project } from '../project/read-project.ts'
import type { Deploying } from '../project/deploying.ts'
import { LIVE_MARK, startBody } from './start-app.ts'
import { readWhole } from '../../../platform/http/bounded-body.ts'

const LOG_MS = 15_000
/** Bytes of its output that are read, from the end. */
const MAX_LOG_BYTES = 16 * 1024 * 1024
/** Lines of a failed app's output that are copied to the build log. */
const SHOWN_LINES = 200

/** Starts the app and waits until it is healthy. From then on it is restarted when it ends. @throws DeployFailure */
export async function startVersion(
  { control, log, row, deadline }: Deploying,
  shell: GuestShell,
  plan: BuildPlan,
  project: Project,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  log.say(`==> start: ${plan.start ?? 'files of the site'}`)
  const patience = deadline.within(control.config.deploys.start_seconds * 1000, 'start of the app')
  const execId = await shell.begin(startBody(plan, env, row.port, project), patience)
  let hasEnded = false
  const look = async () => {
    const { status, exit_code: code } = await shell.look(execId, deadline)
    hasEnded = status === 'exited'
    if (hasEnded) throw new DeployFailure(`the app ended with code ${code} before it answered`)
  }
  const firstPassed = async () => {
    await shell.run({ cmd: `: > ${LIVE_MARK}` }, patience)
  }
  try {
    await untilHealthy(shell, row.port, patience, { look, firstPassed })
  } catch (error) {
    const listing = await whatItSays(shell).catch(() => '')
    log.write(listing)
    if (!isDeployFailure(error)) throw error
    const why = hasEnded ? lastWordsOf(listing) : await otherPorts(shell, row.port)
    throw new DeployFailure(`${error.message}${why}`)
  }
  log.say(`healthy on port ${row.port}`)
}

/** The end of the app's output. */
async function whatItSays({ client, sandboxId, workspaceId, requestId }: GuestShell): Promise<string> {
  const answer = await client.forward({
    method: 'GET',
    path: `/v1/sandboxes/${sandboxId}/logs?tail=${SHOWN_LINES}`,
    workspaceId,
    requestId,
    headers: { accept: 'application/json' },
    timeoutMs: LOG_MS,
    silenceMs: LOG_MS,
    signal: AbortSignal.timeout(LOG_MS),
  })
  const lines = z.array(logLine).parse(JSON.parse((await readWhole(answer.body, MAX_LOG_BYTES)).toString()))
  return lines
    .filter(isOfApp)
    .map(({ line }) => `${line}\n`)
    .join('')
}

function lastWordsOf(listing: string): string {
  const words = lastWords(listing)
  return words === undefined ? '' : `: ${words}`
}

/** Other ports on which the app listens, because a wrong port is the usual mistake. */
async function otherPorts({ client, sandboxId, workspaceId, requestId }: GuestShell, port: number): Promise<string> {
  const { ports } = await readListeners(client, { id: sandboxId, workspaceId, requestId }).catch(() => ({ ports: [] }))
  const others = ports.filter((each) => each !== 22 && each !== port)
  return others.length === 0 ? '' : `; it listens on ${others.join(', ')}: set port, or listen on $PORT`
}
