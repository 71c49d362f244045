import { z } from 'zod'
import { event } from './event.ts'
import { bootMode, sandboxStatus } from './sandbox.ts'
import { template } from './template.ts'

/** What control and an agent say to one another (ARCHITECTURE.md, "Between control and agent"). */

/** One record of an agent's log: numbered from 1 without a gap, over all its sandboxes. */
export const agentRecord = z.object({
  seq: z.int(),
  /** The sandbox's own event number, from 1. */
  number: z.int(),
  /** `null` where the agent found a VM of which it has no manifest. */
  workspace_id: z.string().nullable(),
  event,
})
export type AgentRecord = z.infer<typeof agentRecord>

/** `tcg` is software emulation: everything works, at a fraction of the speed. */
export const accelerator = z.enum(['kvm', 'tcg'])
export type Accelerator = z.infer<typeof accelerator>

/**
 * What holds a guest that broke out into QEMU.
 * `user`: own uid per VM, no capabilities, seccomp, memory and process limits by cgroup.
 * `user-nolimits`: the same where the host gives no cgroup.
 * `process`: the agent is not root; seccomp alone.
 */
export const isolation = z.enum(['user', 'user-nolimits', 'process'])
export type Isolation = z.infer<typeof isolation>

/** Answer of `GET /v1/agent`. */
export const agentInfo = z.object({
  agent_id: z.string(),
  version: z.string(),
  accelerator,
  isolation,
  qemu_version: z.string(),
  cpus: z.int(),
  /** MiB. `available` is what the host could still give without swapping. */
  memory_mib: z.object({ total: z.int(), available: z.int() }),
  /** Baked and ready to be restored. */
  templates: z.array(template),
  sandboxes: z.int(),
  last_seq: z.int(),
})
export type AgentInfo = z.infer<typeof agentInfo>

/** Body of the agent's `POST /v1/sandboxes`; the workspace is in the credential. */
export const createOnAgentBody = z.object({
  id: z.uuid(),
  template: z.string(),
  env: z.record(z.string(), z.string()),
})
export type CreateOnAgentBody = z.infer<typeof createOnAgentBody>

/** A sandbox as its agent knows it. */
export const agentSandbox = z.object({
  id: z.string(),
  workspace_id: z.string(),
  template: z.string(),
  status: sandboxStatus,
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  guest_ip: z.string().nullable(),
  cpu: z.int(),
  memory_mb: z.int(),
  /** Number of the last record about this sandbox. */
  last_seq: z.int(),
})
export type AgentSandbox = z.infer<typeof agentSandbox>

/** Answer of the agent's `GET /v1/sandboxes`: true when the log stood at `last_seq`. */
export const agentSandboxList = z.object({ last_seq: z.int(), sandboxes: z.array(agentSandbox) })
export type AgentSandboxList = z.infer<typeof agentSandboxList>
