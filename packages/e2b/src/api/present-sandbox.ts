import { sandbox as sandboxSchema, type Sandbox, type SandboxStatus } from '@offshoot/contract/sandbox'
import { z } from 'zod'
import type { GatewayContext } from '../base/context.ts'
import { shownId } from '../base/sandbox-id.ts'

/** The version of E2B's in-guest service whose features the gateway has. Clients choose their calls by it. */
export const ENVD_VERSION = '0.6.4'

/** Marks sandboxes made by the gateway: whether a request from outside wakes the sandbox. */
export const AUTO_RESUME = 'e2b:auto_resume'
/** Metadata that control adds to the children of a fork. */
const OF_FORKS = ['fork_tree_id', 'fork_index']

export const readSandbox = sandboxSchema
export const readSandboxes = z.array(sandboxSchema)

const STATES: Readonly<Record<SandboxStatus, 'running' | 'paused' | null>> = {
  creating: 'running',
  running: 'running',
  paused: 'paused',
  hibernated: 'paused',
  failed: null,
}

/** Without the gateway's own marks. */
function metadataOf({ metadata, fork_tree_id }: Sandbox): Record<string, string> {
  const own = new Set([AUTO_RESUME, ...(fork_tree_id === null ? [] : OF_FORKS)])
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !own.has(key)))
}

/** Whether E2B's clients may see a sandbox: it has not failed, and no app or database owns it. */
export function isShown({ status, managed_by }: Sandbox): boolean {
  return STATES[status] !== null && managed_by === null
}

/** The end of a sandbox without a deadline. */
const NEVER = '9999-12-31T23:59:59.000Z'

/** As lists show it. */
export function presentListed(sandbox: Sandbox) {
  return {
    sandboxID: shownId(sandbox.id),
    templateID: sandbox.from_snapshot ?? sandbox.template,
    alias: sandbox.template,
    clientID: 'offshoot',
    startedAt: sandbox.created_at,
    endAt: sandbox.expires_at ?? NEVER,
    cpuCount: sandbox.cpu,
    memoryMB: sandbox.memory_mb,
    diskSizeMB: 0,
    metadata: metadataOf(sandbox),
    state: STATES[sandbox.status] ?? 'paused',
    envdVersion: ENVD_VERSION,
    volumeMounts: [],
  }
}

/** As one sandbox is read. */
export function presentDetail(context: GatewayContext, sandbox: Sandbox) {
  return {
    ...presentListed(sandbox),
    ...accessOf(context, sandbox),
    allowInternetAccess: sandbox.network.egress === 'internet',
    lifecycle: {
      autoResume: isAutoResumed(sandbox),
      onTimeout: sandbox.on_timeout === 'pause' ? 'pause' : 'kill',
    },
  }
}

/** As a create, a connect or a fork answers. */
export function presentAccess(context: GatewayContext, sandbox: Sandbox) {
  return {
    sandboxID: shownId(sandbox.id),
    templateID: sandbox.from_snapshot ?? sandbox.template,
    alias: sandbox.template,
    clientID: 'offshoot',
    envdVersion: ENVD_VERSION,
    ...accessOf(context, sandbox),
    // Clients send it to the code interpreter, some of them in place of the other one.
    trafficAccessToken: accessOf(context, sandbox).envdAccessToken,
  }
}

export function isAutoResumed({ metadata }: Sandbox): boolean {
  return metadata[AUTO_RESUME] === 'true'
}

function accessOf({ access, config }: GatewayContext, { id }: Sandbox) {
  return { envdAccessToken: access.tokenOf(id as Parameters<typeof access.tokenOf>[0]), domain: domainOf(config) }
}

/** Clients put it after `<port>-<id>.`, so it has the port. */
function domainOf({ domain }: GatewayContext['config']): string {
  return domain.port === 443 ? domain.suffix : `${domain.suffix}:${domain.port}`
}
