import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { openEnvironment } from '../model/app-environment.ts'
import { appById } from '../model/app-statements.ts'
import type { AppsContext } from '../model/apps-context.ts'
import type { DeploymentRow, ReplacementCause } from '../model/deployment-row.ts'
import { failDeployment, MAX_ATTEMPTS, setDeploying, setSticky } from '../model/deployment-statements.ts'
import { keepTree } from '../dependency-cache/keep-tree.ts'
import { disownTree } from '../dependency-cache/tree-statements.ts'
import { BuildLog } from '../project/build-log.ts'
import { ENDING } from '../model/deployer.ts'
import { DeployFailure, isDeployFailure, NoLongerWanted } from '../project/deploy-failure.ts'
import { type Deploying, mustBeOurs } from '../project/deploying.ts'
import { lastWords } from '../project/last-words.ts'
import { makeLive } from './make-live.ts'
import { type Prepared, prepareSource } from './prepare-source.ts'
import { dropReplacement, stillToReplace } from './replacement-statements.ts'
import { buildEnvironment } from './start-app.ts'
import { startVersion } from './start-version.ts'
import { wakeVersion } from './wake-version.ts'

/** The first line of a replacement's build log. */
const WHY: Readonly<Record<ReplacementCause, string>> = {
  sandbox_lost: 'the sandbox of the live version is gone: it is built again',
  host_lost: 'the host of the live version is lost: it is built again on another one',
  host_drained: 'the host of the live version is drained: it is built on another one',
}

/**
 * Runs one deployment from its claim to its end. The row always gets the result: `live`, or `failed` with the reason.
 *
 *     building: sandbox → clone → install → build    (or: the hibernated sandbox of the same build)
 *     deploying: start → three answers in a row → live
 *
 * Before each step it writes to the row, on the condition that the deployment is still wanted and claimed by this
 * process. The row names the sandbox before it is created, and a sandbox that no row names is deleted. If the process
 * dies, another one starts the deployment again from the beginning.
 */
export async function runDeployment(
  control: AppsContext,
  row: DeploymentRow,
  creator: number,
  cancelled: AbortSignal,
): Promise<void> {
  const { pool } = control.database
  const log = new BuildLog(pool, row.id)
  const { total_seconds: totalSeconds } = control.config.deploys
  const deadline = Deadline.after(totalSeconds * 1000, `deploy of ${row.app_id}`, cancelled)
  try {
    const [app] = await appById(pool, row.app_id)
    if (app === undefined) throw new NoLongerWanted()
    if (row.attempts > MAX_ATTEMPTS) throw new DeployFailure('the service was interrupted each time it was tried')
    if (row.attempts > 1) log.say('the service was interrupted: from the beginning')
    if (row.cause !== null) {
      log.say(WHY[row.cause])
      const [wanted] = await stillToReplace(pool, app.id)
      if (wanted === undefined) {
        log.say('that is not necessary any more: the live version can stay where it is')
        await dropReplacement(pool, row.id, creator)
        return
      }
    }
    await deploy({ control, app, row, creator, log, deadline })
  } catch (error) {
    // The process stops or has lost its claim, so another one continues with the row.
    if (cancelled.aborted && cancelled.reason === ENDING) return
    const late = `it took longer than ${totalSeconds} s`
    // After a timeout or a cancellation, other errors are only its consequences.
    const reason = cancelled.aborted ? 'cancelled' : deadline.remainingMs === 0 ? late : reasonOf(error)
    log.say(`failed: ${reason}`)
    await log.close().catch(() => undefined)
    control.log.info({ deployment: row.id, app: row.app_id, err: error }, 'deployment failed')
    await failDeployment(pool, row.id, creator, reason)
  } finally {
    await log.close().catch(() => undefined)
  }
}

async function deploy(deploying: Deploying): Promise<void> {
  const { control, app, row, creator, log } = deploying
  const isRollback = row.origin_id !== row.id
  const woken = isRollback ? await wakeVersion(deploying) : null
  if (woken === null) await buildAndStart(deploying)
  log.say('live')
  await log.close()
  await makeLive(control, app, row, creator)
}

async function buildAndStart(deploying: Deploying): Promise<void> {
  const { app, control, log, row, creator } = deploying
  const { pool } = control.database
  const prepared = await prepareSource(deploying)
  const { project, plan, tree } = prepared
  await mustBeOurs(setSticky(pool, row.id, creator, project.settings.sticky))
  log.say(`framework: ${plan.framework}`)
  const env = openEnvironment(control.appSecrets, app)
  try {
    await build(deploying, prepared, env)
    await mustBeOurs(setDeploying(pool, row.id, creator))
    await startVersion(deploying, prepared.shell, plan, project, env)
  } catch (error) {
    // The reused tree may be the cause, so the next build installs again.
    if (tree !== null && isDeployFailure(error)) await disownTree(pool, tree.id)
    throw error
  }
}

async function build(deploying: Deploying, prepared: Prepared, env: Readonly<Record<string, string>>): Promise<void> {
  const { shell, plan, project, key, tree } = prepared
  if (tree !== null) deploying.log.say('==> install: as it was, its lock file is the same')
  else {
    await runStep(deploying, prepared, env, 'install')
    if (plan.install !== null && key !== null) await keepTree(deploying, shell, project.folder, key)
  }
  await runStep(deploying, prepared, env, 'build')
}

async function runStep(
  { control, log, deadline, row }: Deploying,
  { shell, plan, project }: Prepared,
  env: Readonly<Record<string, string>>,
  name: 'install' | 'build',
): Promise<void> {
  const cmd = plan[name]
  if (cmd === null) return
  log.say(`==> ${name}: ${cmd}`)
  const body = {
    cmd,
    cwd: name === 'install' ? plan.installFolder : project.folder,
    env: buildEnvironment(env, row.port, project),
    timeout_seconds: control.config.deploys.step_seconds,
  }
  const { exitCode, stderr, stdout } = await shell.run(body, deadline, (text) => log.write(text))
  log.endLine()
  if (exitCode === 0) return
  const said = lastWords(stderr) ?? lastWords(stdout)
  throw new DeployFailure(`${name} failed with code ${exitCode}${said === undefined ? '' : `: ${said}`}`)
}

/** The reason for the row, in terms that the user can act on. */
function reasonOf(error: unknown): string {
  if (isDeployFailure(error)) return error.message
  if (error instanceof NoLongerWanted) return 'cancelled'
  if (error instanceof ApiError)
    return error.body.detail === undefined ? error.message : `${error.message}: ${error.body.detail}`
  if (error instanceof AgentUnreachable) return 'the host of its sandbox went away'
  if (error instanceof AgentRefused) return `its sandbox could not go on: ${error.body.error}`
  return `internal error: ${error instanceof Error ? error.message : 'unknown'}`
}
