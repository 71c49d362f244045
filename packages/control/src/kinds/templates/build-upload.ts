import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { BuildId, WorkspaceId } from '@offshoot/contract/ids'
import { AgentRefused, refusalOf } from '../../fleet/agent-failure.ts'
import { cancelOnAgent, uploadRootfs } from '../../fleet/build-calls.ts'
import type { BillingContext } from '../billing/billing-context.ts'
import { type Candidate, isCandidate } from '../../fleet/placement/candidates.ts'

/** An archive on its way to the agent that is to build it; nothing of it is kept here. */
export class BuildUpload {
  readonly id = randomUUID() as BuildId
  readonly workspaceId: WorkspaceId
  readonly requestId: string
  readonly agent: Candidate
  readonly #signal: AbortSignal
  #bytes: number | undefined

  /** @throws ApiError 502 */
  constructor({ fleet }: BillingContext, workspaceId: WorkspaceId, requestId: string, signal: AbortSignal) {
    const [agent] = fleet.agents
      .filter(isCandidate)
      .toSorted(
        (a, b) =>
          Number(b.isReachable) - Number(a.isReachable) || b.info.memory_mib.available - a.info.memory_mib.available,
      )
    if (agent === undefined) throw new ApiError('noComputeNode')
    this.agent = agent
    this.workspaceId = workspaceId
    this.requestId = requestId
    this.#signal = signal
  }

  /** Of the archive; `undefined` until it has arrived. */
  get bytes(): number | undefined {
    return this.#bytes
  }

  /** @throws ApiError as the agent has it: 413, 507; whatever the source fails with */
  async take(source: Readable): Promise<void> {
    try {
      this.#bytes = await uploadRootfs(this.agent.client, this, source, this.#signal)
    } catch (error) {
      if (source.errored instanceof ApiError) throw source.errored
      if (error instanceof AgentRefused && error.status === 507)
        throw new ApiError('templateStorage', {}, { cause: error })
      if (error instanceof AgentRefused && error.status === 413)
        throw new ApiError('bodyTooLarge', error.body, { cause: error })
      throw refusalOf(error)
    }
  }

  /** Has the agent forget what came. */
  async drop({ log }: BillingContext): Promise<void> {
    await cancelOnAgent(this.agent.client, this).catch((error: unknown) =>
      log.warn({ err: error }, 'upload left to its agent'),
    )
  }
}
