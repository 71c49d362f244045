import type { UpArguments } from './base/arguments.ts'
import { readCommit } from './config/commit.ts'
import { baseUrl, e2bDomain, previewAddress, sshAddressOf, writeConfiguration } from './config/configuration.ts'
import { type Access, type Addresses, bootstrap } from './config/credentials.ts'
import { readOperatorKey } from './config/operator-key.ts'
import { secret } from './base/secret.ts'
import { readSettings, type Settings } from './config/settings.ts'
import type { DataLayout } from './base/data-layout.ts'
import { buildImages } from './images/build-images.ts'
import type { Step } from './images/step.ts'
import type { GuestNamespace } from './rootless/guest-namespace.ts'
import { prepareAgent } from './prepare-agent.ts'
import { Progress } from './images/progress.ts'
import { ensureCluster } from './services/postgres-cluster.ts'
import { postgresPrograms } from './services/postgres-install.ts'
import { postgresService, removeStalePidFile, waitForPostgres } from './services/postgres-service.ts'
import type { Ports } from './services/running-record.ts'
import type { Supervisor } from './services/supervisor.ts'

export interface FillDataDir {
  readonly args: UpArguments
  readonly layout: DataLayout
  /** Steps that build the images. */
  readonly steps: readonly Step[]
  readonly ports: Ports
  /** Starts PostgreSQL, which keeps running. */
  readonly supervisor: Supervisor
  /** Where the agent runs without root; `null` for root. */
  readonly guests: GuestNamespace | null
  readonly stop: AbortSignal
}

/**
 * Prepares everything that the services need: images, database cluster, configuration, the first user, bakes. Skips
 * steps that are up to date.
 */
export async function fillDataDir({
  args,
  layout,
  steps,
  ports,
  supervisor,
  guests,
  stop,
}: FillDataDir): Promise<Access> {
  const settings = await readSettings(layout.settings, args.tls)
  const progress = new Progress([...steps.map((step) => step.name), 'bakes'])
  const programs = await postgresPrograms()
  const databasePassword = await both(
    ensureCluster(layout, programs, stop),
    buildImages(layout.imagesDir, steps, progress, stop),
  )
  const operatorKey = await readOperatorKey(layout.secrets)
  await writeConfiguration({
    layout,
    ports,
    templates: args.templates,
    maxUploadBytes: args.maxUploadBytes,
    network: args.network,
    accelerator: args.accelerator,
    kvm: args.kvm,
    poolMemoryMib: args.poolMemoryMib,
    hasZygotes: args.hasZygotes,
    commitLimitMib: args.commitLimitMib,
    disk: args.disk,
    limits: args.limits,
    preview: args.preview,
    databaseSuffix: args.databaseSuffix,
    e2bDomain: args.e2bDomain,
    sshAddress: args.sshAddress,
    agentSecret: (await secret(layout.secrets, 'agent')).toString('base64'),
    edgeSecret: (await secret(layout.secrets, 'edge')).toString('base64'),
    edgeControlSecret: (await secret(layout.secrets, 'edge-control')).toString('base64'),
    gatewaySecret: (await secret(layout.secrets, 'gateway')).toString('base64'),
    objectsKey: (await secret(layout.secrets, 'objects')).toString('base64'),
    databasePassword,
    operatorKey,
    settings,
    isRootless: guests !== null,
    commit: await readCommit(),
  })
  await removeStalePidFile(layout)
  supervisor.start(await postgresService(layout, programs, ports.postgres))
  return both(
    waitForPostgres(layout, supervisor, stop).then(() =>
      bootstrap(layout, addressesOf(ports, args, settings), operatorKey, stop),
    ),
    prepareAgent({
      layout,
      report: (line) => progress.say('bakes', line),
      cancelled: stop,
      patience: args.kvm?.patience,
      under: (await guests?.entering()) ?? [],
    }),
  )
}

function addressesOf(
  ports: Ports,
  { preview, sshAddress, e2bDomain: own }: UpArguments,
  { public_url: publicUrl }: Settings,
): Addresses {
  return {
    control: baseUrl(ports),
    console: publicUrl ?? baseUrl(ports),
    preview: previewAddress({ ports, preview }),
    ssh: sshAddressOf({ ports, sshAddress }),
    e2b: { port: ports.e2b, domain: e2bDomain({ ports, preview, e2bDomain: own }) },
  }
}

/** Waits for both promises even if one fails, so that no work continues during the caller's cleanup. */
async function both<T>(wanted: Promise<T>, other: Promise<unknown>): Promise<T> {
  const [first, second] = await Promise.allSettled([wanted, other])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return first.value
}
