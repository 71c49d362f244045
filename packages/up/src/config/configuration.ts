import { agentConfig, controlConfig, type AgentConfig, type ControlConfig } from '@offshoot/contract/process-config'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { DataLayout } from '../data-layout.ts'
import type { LimitSettings } from '../arguments.ts'
import { DATABASE } from '../services/postgres-cluster.ts'
import type { Ports } from '../services/running-record.ts'

export interface ConfigurationInputs {
  readonly layout: DataLayout
  readonly ports: Ports
  readonly templates: readonly string[] | null
  readonly maxUploadBytes: number | null
  readonly poolMemoryMib: number | null
  readonly commitLimitMib: number | null
  readonly limits: LimitSettings
  /** base64 */
  readonly agentSecret: string
  readonly databasePassword: string
  readonly commit: string
}

/** All listen here: a public address, with TLS before it, is the business of whoever runs a proxy. */
export const HOST = '127.0.0.1'

export function baseUrl(ports: Ports): string {
  return `http://${HOST}:${ports.control}`
}

export function agentConfiguration(inputs: ConfigurationInputs): AgentConfig {
  const { layout, ports, templates, maxUploadBytes, poolMemoryMib, commitLimitMib, agentSecret } = inputs
  return agentConfig.parse({
    data_dir: layout.agent,
    images_dir: layout.imagesDir,
    listen: { host: HOST, port: ports.agent },
    secret: agentSecret,
    templates,
    public_url: baseUrl(ports),
    ...(maxUploadBytes !== null && { max_upload_bytes: maxUploadBytes }),
    ...(poolMemoryMib !== null && { pool_memory_mib: poolMemoryMib }),
    ...(commitLimitMib !== null && { commit_limit_mib: commitLimitMib }),
    log_level: 'info',
  })
}

export function controlConfiguration(inputs: ConfigurationInputs): ControlConfig {
  const { layout, ports } = inputs
  return controlConfig.parse({
    listen: { host: HOST, port: ports.control },
    public_url: baseUrl(ports),
    database: { host: HOST, port: ports.postgres, password: inputs.databasePassword, ...DATABASE },
    agents: [{ url: `http://${HOST}:${ports.agent}`, secret: inputs.agentSecret }],
    cors_origins: [],
    ...(inputs.maxUploadBytes !== null && { max_upload_bytes: inputs.maxUploadBytes }),
    limits: inputs.limits,
    data_dir: layout.control,
    commit: inputs.commit,
    log_level: 'info',
  })
}

/** What the processes are started with; rewritten at every start. */
export async function writeConfiguration(inputs: ConfigurationInputs): Promise<void> {
  const { layout } = inputs
  await writeFileDurably(layout.agentConfig, asFile(agentConfiguration(inputs)))
  await writeFileDurably(layout.controlConfig, asFile(controlConfiguration(inputs)))
}

function asFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
