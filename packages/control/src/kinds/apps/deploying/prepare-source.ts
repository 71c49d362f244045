import { randomUUID } from 'node:crypto'
import { APP_TEMPLATE } from '@offshoot/contract/app'
import type { SandboxId } from '@offshoot/contract/ids'
import { createSandboxBody } from '@offshoot/contract/sandbox'
import { nameSandbox, setCommit } from '../model/deployment-statements.ts'
import { createSandbox } from '../../sandboxes/create-sandbox.ts'
import { liveAgent } from '../../../fleet/live-agent.ts'
import { removeSandbox } from '../../sandboxes/model/remove-sandbox.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import { treeKey } from '../dependency-cache/tree-key.ts'
import { appImageDigest, treeSource } from '../dependency-cache/tree-source.ts'
import { disownTree, treeOfApp, type TreeRow } from '../dependency-cache/tree-statements.ts'
import { type BuildPlan, planBuild } from '../project/build-plan.ts'
import { NoLongerWanted } from '../project/deploy-failure.ts'
import { type Deploying, mustBeOurs } from '../project/deploying.ts'
import { fetchSource } from '../project/fetch-source.ts'
import { GuestShell } from '../../sandboxes/guest-shell.ts'
import { type Project, projectOf, READ_PROJECT } from '../project/read-project.ts'

/** A sandbox with the commit, and the plan of its build. */
export interface Prepared {
  readonly shell: GuestShell
  readonly project: Project
  readonly plan: BuildPlan
  /** The key under which to keep the installed tree; `null`: do not keep it. */
  readonly key: string | null
  /** The installed tree that the sandbox started from; `null`: nothing is installed. */
  readonly tree: TreeRow | null
}

/**
 * Starts from the installed tree of an earlier build if the app has one with the same key, else from the template.
 *
 * If the repository needs a credential, no tree is used or kept. git gets the credential inside the sandbox, and
 * install scripts that ran there before may have replaced git.
 * @throws DeployFailure
 */
export async function prepareSource(deploying: Deploying): Promise<Prepared> {
  const { control, app } = deploying
  const credential = await control.gitCredentials.of(app)
  const [tree] = credential === null ? await treeOfApp(control.database.pool, app.id) : []
  const prepared = tree === undefined ? null : await prepareFrom(deploying, tree)
  if (prepared !== null) return prepared
  const fresh = await prepare(deploying, credential, null)
  return credential === null ? fresh : { ...fresh, key: null }
}

/** `null` if the tree cannot be used: it is gone, or this commit has other dependencies. */
async function prepareFrom(deploying: Deploying, tree: TreeRow): Promise<Prepared | null> {
  const { control, log, deadline } = deploying
  try {
    const prepared = await prepare(deploying, null, tree)
    if (prepared.key === tree.key) return prepared
    log.say('its dependencies are others than before: they are installed anew')
    await drop(deploying, prepared.shell)
  } catch (error) {
    deadline.throwIfOver()
    if (error instanceof NoLongerWanted) throw error
    log.say('what was installed before could not be used: it is installed anew')
    control.log.warn({ err: error, tree: tree.id }, 'installed tree not used')
    await disownTree(control.database.pool, tree.id)
  }
  return null
}

/** Removes the sandbox at once, so that one deployment does not count twice against the workspace's quota. */
async function drop({ control }: Deploying, { sandboxId, requestId }: GuestShell): Promise<void> {
  const [row] = await sandboxById(control.database.pool, sandboxId)
  if (row !== undefined) await removeSandbox(control, row, requestId)
}

async function prepare(deploying: Deploying, credential: string | null, tree: TreeRow | null): Promise<Prepared> {
  const { control, app, row, creator, log, deadline } = deploying
  log.say('==> sandbox')
  const shell = await makeSandbox(deploying, tree)
  log.say('==> clone')
  const gitRef = row.git_commit ?? row.git_ref
  const source = { gitUrl: app.git_url, gitRef, credential, isThere: tree !== null }
  const root = app.root_directory ?? ''
  const reading = { script: READ_PROJECT, env: { ROOT: root } }
  const { commit, ran } = await fetchSource(shell, source, reading, log, deadline)
  await mustBeOurs(setCommit(control.database.pool, row.id, creator, commit))
  const project = projectOf(ran, root)
  const plan = planBuild(app, project)
  const key = treeKey({ ...app, port: row.port }, plan, project, appImageDigest(control))
  return { shell, project, plan, key, tree }
}

/**
 * Creates the sandbox, persistent, so that it is hibernated when it is idle. A sandbox that the row named before
 * becomes an orphan.
 */
async function makeSandbox(
  { control, app, row, creator, deadline }: Deploying,
  tree: TreeRow | null,
): Promise<GuestShell> {
  const source = tree === null ? null : treeSource(control, tree)
  const id = randomUUID() as SandboxId
  const requestId = randomUUID()
  await mustBeOurs(nameSandbox(control.database.pool, row.id, creator, id))
  const made = await createSandbox(control, {
    id,
    workspaceId: app.workspace_id,
    requestId,
    manager: { by: 'app', id: app.id },
    isReplacement: row.cause !== null,
    body: createSandboxBody.parse({
      template: APP_TEMPLATE,
      persistent: true,
      idle_timeout_seconds: app.idle_timeout_seconds,
      visibility: app.visibility,
      metadata: { app_id: app.id, deployment_id: row.id },
    }),
    ...(source !== null && { source }),
  })
  deadline.throwIfOver()
  return new GuestShell(liveAgent(control, made), id, app.workspace_id, requestId)
}
