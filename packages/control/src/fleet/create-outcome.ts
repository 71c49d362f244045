import type { AgentSandbox } from '@offshoot/contract/agent-api'

/** What became of one create on one agent. */
export type CreateOutcome =
  | { readonly kind: 'created'; readonly sandbox: AgentSandbox }
  /** 507: it has no memory, or no disk, for one more. */
  | { readonly kind: 'no-room'; readonly error: Error }
  /** Any other answer: the VM did not start, and the agent has left nothing of it. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** No answer; `mayHaveBegun` says whether a VM may come of it all the same. */
  | { readonly kind: 'unreachable'; readonly mayHaveBegun: boolean; readonly error: Error }
