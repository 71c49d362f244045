import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { BuildId, WorkspaceId } from '@offshoot/contract/ids'
import { AgentRefused, refusalOf } from '../../fleet/agent-failure.ts'
import { cancelOnAgent, uploadRootfs } from '../../fleet/build-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { type Candidate, isOpen } from '../../fleet/placement/candidates.ts'

/** Streams an archive to the agent that will build it. Control stores nothing of it. */
export class BuildUpload {
  readonly id = randomUUID() as BuildId
  readonly workspaceId: WorkspaceId
  readonly requestId: string
  readonly agent: Candidate
  readonly #signal: AbortSignal
  #bytes: number | undefined

  /** @throws ApiError 502 */
  constructor({ fleet }: BillingContext, workspaceId: WorkspaceId, requestId: string, signal: AbortSignal) {
    const [agent] = fleet.rules
      .allowed(fleet.agents, workspaceId)
      .filter(isOpen)
      .toSorted(
        (a, b) =>
          Number(b.isReachable) - Number(a.isReachable) || b.info.memory_mib.available - a.info.memory_mib.available,
      )
    if (agent === undefined) throw fleet.rules.noHost(workspaceId)
    this.agent = agent
    this.workspaceId = workspaceId
    this.requestId = requestId
    this.#signal = signal
  }

  /** The archive's size; `undefined` until it has arrived. */
  get bytes(): number | undefined {
    return this.#bytes
  }

  /** @throws ApiError as the agent answers (413, 507), or the source's error */
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

  /** Makes the agent drop the upload. */
  async drop({ log }: BillingContext): Promise<void> {
    await cancelOnAgent(this.agent.client, this).catch((error: unknown) =>
      log.warn({ err: error }, 'upload left to its agent'),
    )
  }
}
