import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import {
  agentConfig,
  controlConfig,
  e2bConfig,
  edgeConfig,
  type AcceleratorChoice,
  type AgentConfig,
  type ControlConfig,
  type E2bConfig,
  type EdgeConfig,
} from '@offshoot/contract/process-config'
import type { PreviewAddress } from '@offshoot/contract/preview-address'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { DataLayout } from '../base/data-layout.ts'
import type { E2bDomain, SshAddress } from '../base/addresses.ts'
import type {
  DiskSettings,
  KvmSettings,
  LimitSettings,
  NetworkSettings,
  PreviewSettings,
  UpArguments,
} from '../base/arguments.ts'
import { consoleFolder } from '../images/console.ts'
import { docsFolder } from '../images/docs.ts'
import { RESOLVER } from '../rootless/uplink.ts'
import type { Membership } from '../join/membership.ts'
import { operatorKeyHash } from './operator-key.ts'
import type { Settings } from './settings.ts'
import { DATABASE } from '../services/postgres-cluster.ts'
import type { Ports } from '../services/running-record.ts'

export interface ConfigurationInputs {
  readonly layout: DataLayout
  readonly ports: Ports
  readonly templates: readonly string[] | null
  readonly maxUploadBytes: number | null
  readonly poolMemoryMib: number | null
  readonly hasZygotes: boolean | null
  readonly commitLimitMib: number | null
  readonly disk: DiskSettings
  readonly network: NetworkSettings
  readonly accelerator: AcceleratorChoice
  readonly kvm: KvmSettings
  readonly limits: LimitSettings
  readonly preview: PreviewSettings
  readonly databaseSuffix: string | null
  readonly e2bDomain: E2bDomain | null
  readonly sshAddress: SshAddress | null
  /** base64 */
  readonly agentSecret: string
  /** base64: shared by the edge and the agent of this machine */
  readonly edgeSecret: string
  /** base64: shared by the edge and control. The agent does not know it. */
  readonly edgeControlSecret: string
  /** base64 */
  readonly gatewaySecret: string
  /** base64: encrypts objects */
  readonly objectsKey: string
  readonly databasePassword: string
  readonly operatorKey: string
  readonly settings: Settings
  /** Whether the agent runs in the namespaces of `rootless/guest-namespace.ts`. */
  readonly isRootless: boolean
  readonly commit: string
}

/** All services listen on loopback. A public address with TLS is the task of the operator's reverse proxy. */
export const HOST = '127.0.0.1'

/** Descriptor of the agent's socket, where another process makes it. */
export const AGENT_LISTEN_FD = 3

export function baseUrl(ports: Ports): string {
  return `http://${HOST}:${ports.control}`
}

/** What the agent's configuration has from the command line. */
interface AgentInputs {
  readonly layout: DataLayout
  readonly args: Pick<
    UpArguments,
    | 'templates'
    | 'maxUploadBytes'
    | 'poolMemoryMib'
    | 'hasZygotes'
    | 'commitLimitMib'
    | 'disk'
    | 'network'
    | 'accelerator'
    | 'kvm'
  >
  readonly isRootless: boolean
}

function agentSettings({ layout, args, isRootless }: AgentInputs) {
  const { templates, maxUploadBytes, poolMemoryMib, hasZygotes, commitLimitMib, disk, network, accelerator, kvm } = args
  return {
    data_dir: layout.agent,
    images_dir: layout.imagesDir,
    templates,
    ...(maxUploadBytes !== null && { max_upload_bytes: maxUploadBytes }),
    ...(poolMemoryMib !== null && { pool_memory_mib: poolMemoryMib }),
    ...(hasZygotes !== null && { zygotes: hasZygotes }),
    ...(commitLimitMib !== null && { commit_limit_mib: commitLimitMib }),
    disk,
    ...(isRootless && { run_dir: join(layout.agent, 'run'), listen_fd: AGENT_LISTEN_FD }),
    network: { ...network, ...(isRootless && { loopback_resolver: RESOLVER }) },
    accelerator,
    kvm,
    log_level: 'info',
  }
}

export function agentConfiguration(inputs: ConfigurationInputs): AgentConfig {
  const { layout, ports, isRootless, settings } = inputs
  return agentConfig.parse({
    ...agentSettings({ layout, args: inputs, isRootless }),
    listen: { host: HOST, port: ports.agent },
    secret: inputs.agentSecret,
    edge_secret: inputs.edgeSecret,
    public_url: settings.public_url ?? baseUrl(ports),
    ...(settings.objects && { objects: { store: settings.objects, key: inputs.objectsKey } }),
  })
}

/** The agent of a host that has joined a fleet. It listens on every address, and serves control and edges only. */
export function joinedAgentConfiguration(
  inputs: AgentInputs,
  { host_id, host, port, secret, edge_secret, control_url }: Membership,
  { identity, authority }: { readonly identity: string; readonly authority: string },
): AgentConfig {
  return agentConfig.parse({
    ...agentSettings(inputs),
    agent_id: host_id,
    listen: { host: isIPv6(host) ? '::' : '0.0.0.0', port },
    leases: true,
    secret,
    edge_secret,
    tls: { identity, ca: authority },
    public_url: control_url,
  })
}

export function controlConfiguration(inputs: ConfigurationInputs): ControlConfig {
  const { layout, ports } = inputs
  const { objects, ...settings } = inputs.settings
  return controlConfig.parse({
    listen: { host: HOST, port: ports.control },
    public_url: baseUrl(ports),
    database: { host: HOST, port: ports.postgres, password: inputs.databasePassword, ...DATABASE },
    agents: [{ url: `http://${HOST}:${ports.agent}`, secret: inputs.agentSecret }],
    edge_secret: inputs.edgeControlSecret,
    gateway_secret: inputs.gatewaySecret,
    ...(inputs.maxUploadBytes !== null && { max_upload_bytes: inputs.maxUploadBytes }),
    preview: previewAddress(inputs),
    databases: { host: HOST, port: ports.databases, suffix: inputs.databaseSuffix },
    ssh: sshAddressOf(inputs),
    ...settings,
    ...(objects && { objects: { store: objects, key: inputs.objectsKey } }),
    // Environment variables override settings.json.
    limits: { ...settings.limits, ...inputs.limits },
    operator_key_sha256: operatorKeyHash(inputs.operatorKey),
    data_dir: layout.control,
    console_dir: consoleFolder(layout.imagesDir),
    docs_dir: docsFolder(layout.imagesDir),
    commit: inputs.commit,
    log_level: 'info',
  })
}

export function edgeConfiguration({
  layout,
  ports,
  preview,
  databaseSuffix,
  edgeSecret,
  edgeControlSecret,
  settings,
}: ConfigurationInputs): EdgeConfig {
  return edgeConfig.parse({
    listen: { host: HOST, port: ports.edge },
    suffix: preview.suffix,
    databases: { listen: { host: HOST, port: ports.databases }, suffix: databaseSuffix },
    ssh: { listen: { host: HOST, port: ports.ssh } },
    agents: [{ url: `http://${HOST}:${ports.agent}`, secret: edgeSecret }],
    control: {
      url: baseUrl(ports),
      secret: edgeControlSecret,
      public_url: settings.public_url ?? baseUrl(ports),
    },
    ...(preview.certificate !== null && { certificate: preview.certificate }),
    ...(preview.acme !== null && { acme: preview.acme }),
    data_dir: layout.edge,
    log_level: 'info',
  })
}

export function e2bConfiguration(inputs: ConfigurationInputs): E2bConfig {
  const { ports, preview, gatewaySecret } = inputs
  return e2bConfig.parse({
    listen: { host: HOST, port: ports.e2b },
    control_url: baseUrl(ports),
    edge: { url: `http://${HOST}:${ports.edge}`, suffix: preview.suffix },
    domain: e2bDomain(inputs),
    gateway_secret: gatewaySecret,
    log_level: 'info',
  })
}

export function sshAddressOf({ ports, sshAddress }: Pick<ConfigurationInputs, 'ports' | 'sshAddress'>): SshAddress {
  return sshAddress ?? { host: HOST, port: ports.ssh }
}

/** Without a domain of its own, the gateway answers for `e2b.localhost` at its own port. */
export function e2bDomain({
  ports,
  preview,
  e2bDomain: own,
}: Pick<ConfigurationInputs, 'ports' | 'preview' | 'e2bDomain'>): E2bDomain {
  return own ?? { suffix: `e2b.${preview.suffix}`, port: ports.e2b }
}

/** Browsers do not trust the local authority by default, so its preview addresses use http. */
export function previewAddress({ ports, preview }: Pick<ConfigurationInputs, 'ports' | 'preview'>): PreviewAddress {
  const scheme = preview.certificate === null && preview.acme === null ? 'http' : 'https'
  return { scheme, port: ports.edge, suffix: preview.suffix }
}

/** Writes the configuration files of all processes, at every start. */
export async function writeConfiguration(inputs: ConfigurationInputs): Promise<void> {
  const { layout } = inputs
  await writeFileDurably(layout.agentConfig, asFile(agentConfiguration(inputs)))
  await writeFileDurably(layout.controlConfig, asFile(controlConfiguration(inputs)))
  await writeFileDurably(layout.edgeConfig, asFile(edgeConfiguration(inputs)))
  await writeFileDurably(layout.e2bConfig, asFile(e2bConfiguration(inputs)))
}

function asFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
