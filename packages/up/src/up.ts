/**
 * One start, in this order:
 * 1. Check everything that could fail, before anything is created.
 * 2. Build the images; start PostgreSQL in parallel.
 * 3. Prepare the agent and the database, in parallel.
 * 4. Start the services.
 *
 * Any failure or cancellation ends everything that was started.
 */
import { stat } from 'node:fs/promises'
import type { UpArguments } from './base/arguments.ts'
import type { JoinArguments } from './base/join-arguments.ts'
import { canAccess } from './base/can-access.ts'
import { baseUrl, HOST } from './config/configuration.ts'
import type { Access } from './config/credentials.ts'
import { refuseUnfinishedRestore } from './backup/restore.ts'
import { dataLayout, doesDataDirExist, makeDataDir, type DataLayout } from './base/data-layout.ts'
import { takeLock, type ExclusiveLock } from '@offshoot/kit/exclusive-lock'
import { findFreePort, isPortFree } from '@offshoot/kit/free-port'
import { fillDataDir, type FillDataDir } from './fill-data-dir.ts'
import { settleHandover } from './handover.ts'
import { ensureHostReady } from './host/debian-packages.ts'
import { checkResources, SETUP_NEEDS, START_NEEDS } from './host/resources.ts'
import { imageSteps } from './images/image-steps.ts'
import { isAnyMissing } from './images/run-steps.ts'
import type { Step } from './images/step.ts'
import { JoinRefused } from './join/ask-control.ts'
import { enrol } from './join/enrol.ts'
import { type Membership, readMembership } from './join/membership.ts'
import { renewCertificate } from './join/renew.ts'
import { GuestNamespace } from './rootless/guest-namespace.ts'
import { isRootless } from './rootless/requirements.ts'
import { readyLines } from './ready-lines.ts'
import { runHost } from './run-host.ts'
import { templatesFolder } from './base/repository.ts'
import { endOrphans } from './services/orphans.ts'
import { POSTGRES_UID } from './services/postgres-cluster.ts'
import { readRunningRecord, type Ports } from './services/running-record.ts'
import { STOP_ORDER } from './services/stopping.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { aborted, agentService, givingUp, nodeService, startRecord, supervise, tell } from './supervised.ts'
import { waitUntilHealthy, waitUntilListening } from './wait-until-healthy.ts'

/** Default port of previews, if it is free. */
const USUAL_EDGE_PORT = 8081
/** Not 5432, which a PostgreSQL of the host may use. */
const USUAL_DATABASE_PORT = 5433
/** Default port of the E2B gateway, if it is free. */
const USUAL_E2B_PORT = 8082
const USUAL_SSH_PORT = 2222

/**
 * Sets up, starts, and runs until `stop` aborts or a service cannot be started. It then ends the services in order; VMs
 * stay. With the command `prepare` it returns before the services start.
 * @param hurry aborted by the user's second request: services that still run are killed
 * @throws {SetupFailure}
 */
export async function up(args: UpArguments, stop: AbortSignal, hurry: AbortSignal): Promise<void> {
  const layout = dataLayout(args.dataDir, args.imagesDir)
  const existing = (await doesDataDirExist(layout)) ? await lockDataDir(layout) : null
  let lock: ExclusiveLock | null = existing
  try {
    await refuseUnfinishedRestore(layout)
    if (existing) await endOrphans(layout)
    const isHost = args.join !== null || (await readMembership(layout)) !== null
    const steps = await imageSteps(templatesFolder, args.templates, isHost)
    await checkHost(args, layout, steps, isHost)
    await ensureHostReady(args.isYes, stop)
    await makeDataDir(layout)
    lock ??= await lockDataDir(layout)
    const member = await membershipFor(args, layout, stop)
    if (member === null) await run(args, layout, steps, stop, hurry)
    else await runHost({ args, layout, steps, member, stop, hurry })
  } finally {
    lock?.release()
  }
}

/** `null`: the directory holds a whole service, not a host that has joined one. @throws {SetupFailure} */
async function membershipFor(args: UpArguments, layout: DataLayout, stop: AbortSignal): Promise<Membership | null> {
  const member = await readMembership(layout)
  if (args.join === null) return member
  if (member?.control_url === args.join.url) return rejoinIfRefused(layout, args.join, member, stop)
  if (member !== null) throw new SetupFailure(`${layout.dir} has joined ${member.control_url}.`)
  if (await canAccess(layout.postgres))
    throw new SetupFailure(`${layout.dir} holds a service of its own: join with another --data-dir.`)
  return enrol(layout, args.join, stop)
}

/** A host that control refuses joins again if the token is for it. It keeps its id and its data. */
async function rejoinIfRefused(
  layout: DataLayout,
  join: JoinArguments,
  member: Membership,
  stop: AbortSignal,
): Promise<Membership> {
  if (join.token === null) return member
  try {
    await renewCertificate(layout, member, stop)
  } catch (error) {
    if (error instanceof JoinRefused && error.status === 401) return enrol(layout, join, stop, member)
    // The host starts without control, too.
    if (!(error instanceof SetupFailure)) throw error
  }
  return member
}

async function lockDataDir(layout: DataLayout): Promise<ExclusiveLock> {
  const lock = await takeLock(layout.lock, 0)
  if (lock === null) throw new SetupFailure(`Offshoot is already running in ${layout.dir}.`)
  return lock
}

async function checkHost(
  args: UpArguments,
  layout: DataLayout,
  steps: readonly Step[],
  isHost: boolean,
): Promise<void> {
  if (process.platform !== 'linux') throw new SetupFailure('Offshoot runs on Linux only.')
  await refuseOtherOwner(layout)
  if (args.command === 'up' && !isHost) await checkPorts(args)
  const isSetup = await isAnyMissing(steps, layout.imagesDir)
  await checkResources([layout.imagesDir, layout.dir], isSetup ? SETUP_NEEDS : START_NEEDS)
}

/** Ids of files differ between root and the namespaces of a user, and so do the users of PostgreSQL. */
async function refuseOtherOwner({ dir, postgres }: DataLayout): Promise<void> {
  const found = await stat(postgres).catch(() => null)
  const own = isRootless() ? process.getuid?.() : POSTGRES_UID
  if (found === null || found.uid === own) return
  const owner = found.uid === POSTGRES_UID ? 'root' : `the user with the id ${found.uid}`
  throw new SetupFailure(`Another user started ${dir}: run bin/up as ${owner}.`)
}

async function checkPorts(args: UpArguments): Promise<void> {
  if (args.port !== 0 && !(await isPortFree(HOST, args.port)))
    throw new SetupFailure(`Port ${args.port} is taken: choose another one with --port.`)
  if (args.edgePort && !(await isPortFree(HOST, args.edgePort)))
    throw new SetupFailure(`Port ${args.edgePort} is taken: choose another one with --edge-port.`)
  if (args.databasePort && !(await isPortFree(HOST, args.databasePort)))
    throw new SetupFailure(`Port ${args.databasePort} is taken: choose another one with --database-port.`)
  if (args.e2bPort && !(await isPortFree(HOST, args.e2bPort)))
    throw new SetupFailure(`Port ${args.e2bPort} is taken: choose another one with --e2b-port.`)
  if (args.sshPort && !(await isPortFree(HOST, args.sshPort)))
    throw new SetupFailure(`Port ${args.sshPort} is taken: choose another one with --ssh-port.`)
}

async function run(
  args: UpArguments,
  layout: DataLayout,
  steps: readonly Step[],
  stop: AbortSignal,
  hurry: AbortSignal,
) {
  const ports: Ports = {
    control: args.port === 0 ? await findFreePort() : args.port,
    agent: await findFreePort(),
    edge: await edgePort(args, layout),
    databases: await databasePort(args, layout),
    e2b: await e2bPort(args, layout),
    ssh: await sshPort(args, layout),
    postgres: await findFreePort(),
  }
  const record = await startRecord(layout, ports)
  const supervisor = supervise(layout, record)
  const givenUp = givingUp(layout, supervisor)
  let guests: GuestNamespace | null = null
  try {
    guests = isRootless() ? await GuestNamespace.open(layout, stop) : null
    const filled = fillDataDir({ args, layout, steps, ports, supervisor, guests, stop })
    const access = await Promise.race([givenUp, filled])
    if (args.command === 'prepare') return
    await guests?.connect(tell)
    await Promise.race([givenUp, serve({ args, layout, ports, supervisor, guests, stop }, access)])
    await Promise.race([givenUp, aborted(stop)])
    tell('Stopping the services. Sandboxes stay, and the next start adopts them.')
  } finally {
    givenUp.catch(() => undefined)
    guests?.stopWatching()
    await supervisor.stop(STOP_ORDER, hurry)
    if (args.command === 'prepare') await guests?.endIfUnused()
  }
}

async function edgePort({ command, port, edgePort: wanted }: UpArguments, layout: DataLayout): Promise<number> {
  const earlier = (await readRunningRecord(layout.runningRecord))?.edgePort ?? null
  return lastingPort({ command, port, wanted, earlier, usual: USUAL_EDGE_PORT })
}

async function databasePort({ command, port, databasePort: wanted }: UpArguments, layout: DataLayout): Promise<number> {
  const earlier = (await readRunningRecord(layout.runningRecord))?.databasePort ?? null
  return lastingPort({ command, port, wanted, earlier, usual: USUAL_DATABASE_PORT })
}

async function e2bPort({ command, port, e2bPort: wanted }: UpArguments, layout: DataLayout): Promise<number> {
  const earlier = (await readRunningRecord(layout.runningRecord))?.e2bPort ?? null
  return lastingPort({ command, port, wanted, earlier, usual: USUAL_E2B_PORT })
}

async function sshPort({ command, port, sshPort: wanted }: UpArguments, layout: DataLayout): Promise<number> {
  const earlier = (await readRunningRecord(layout.runningRecord))?.sshPort ?? null
  return lastingPort({ command, port, wanted, earlier, usual: USUAL_SSH_PORT })
}

interface LastingPort {
  readonly command: UpArguments['command']
  /** The public port. */
  readonly port: number
  readonly wanted: number | null
  readonly earlier: number | null
  readonly usual: number
}

/** Users share preview addresses, so the port stays the same across restarts unless the user requests another one. */
async function lastingPort({ command, port, wanted, earlier, usual }: LastingPort): Promise<number> {
  if (wanted !== null) return wanted === 0 ? findFreePort() : wanted
  // `prepare` starts no service, so the port need not be free now.
  if (command === 'prepare') return earlier ?? usual
  for (const candidate of [...(earlier ? [earlier] : []), ...(port === 0 ? [] : [usual])]) {
    if (candidate !== port && (await isPortFree(HOST, candidate))) return candidate
  }
  return findFreePort()
}

async function serve(
  { args, layout, ports, supervisor, guests, stop }: Omit<FillDataDir, 'steps'>,
  { credentials, signInLink }: Access,
): Promise<void> {
  supervisor.start(agentService(layout, guests, { host: HOST, port: ports.agent }))
  supervisor.start(nodeService(layout, 'control', ports.control))
  supervisor.start(nodeService(layout, 'edge', ports.edge))
  supervisor.start(nodeService(layout, 'e2b', ports.e2b))
  await waitUntilHealthy(baseUrl(ports), stop)
  await waitUntilListening(`http://${HOST}:${ports.edge}`, stop)
  await waitUntilListening(`http://${HOST}:${ports.e2b}`, stop)
  await settleHandover(layout)
  const template = args.templates?.[0] ?? 'base'
  process.stdout.write(`ready ${baseUrl(ports)}\n${readyLines(credentials, signInLink, template).join('\n')}\n`)
}
