import type { AgentSandbox } from '@offshoot/contract/agent-api'

/** The outcome of one create on one agent. */
export type CreateOutcome =
  | { readonly kind: 'created'; readonly sandbox: AgentSandbox }
  /** 507: the agent has no memory or no disk for another sandbox. */
  | { readonly kind: 'no-room'; readonly error: Error }
  /** Any other answer: the VM did not start, and the agent has cleaned up. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** No answer. `mayHaveBegun` says whether the agent may still create a VM. */
  | { readonly kind: 'unreachable'; readonly mayHaveBegun: boolean; readonly error: Error }
