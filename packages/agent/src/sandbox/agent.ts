import type { Accelerator, Isolation } from '@offshoot/contract/agent-api'
import type { AgentId } from '@offshoot/contract/ids'
import type { BakedTemplate } from '../machine/bakes/bakes.ts'
import type { NameServer } from '../machine/network/dns/name-server.ts'
import type { Images } from '../store/bakes/images.ts'
import type { Builds } from './builds/builds.ts'
import type { SshProbes } from './events/ssh-probes.ts'
import type { Host } from './model/host.ts'
import type { OnDemandTemplates } from './templates/on-demand-templates.ts'

/** One agent that is ready to serve: what the routes work with. `startAgent` makes it. */
export interface Agent {
  readonly id: AgentId
  readonly version: string
  readonly accelerator: Accelerator
  /** Why not KVM; `null` under KVM. */
  readonly acceleratorReason: string | null
  readonly isolation: Isolation
  readonly images: Images
  readonly templates: ReadonlyMap<string, BakedTemplate>
  readonly onDemand: OnDemandTemplates | null
  /** Templates that should be here and cannot be used, with the reason. */
  readonly broken: ReadonlyMap<string, unknown>
  readonly host: Host
  readonly builds: Builds
  /** Answers guests' questions for names; `null` where they have no network. */
  readonly names: NameServer | null
  readonly sshProbes: SshProbes
  /** Bytes of one upload into a sandbox. */
  readonly maxUploadBytes: number
  /** Aborts when the agent is to end: streams end, commands are stopped, nothing new starts. */
  readonly stopping: AbortSignal
}
