import type { SandboxId } from '@offshoot/contract/ids'
import { releasedSandbox, releasePath } from '@offshoot/contract/sandbox-release'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { askControl } from '../apps/ask-control.ts'

/** Milliseconds, in which control asks the host. */
const ANSWER_MS = 20_000

export interface AskedForRelease {
  readonly controlUrl: string
  readonly credential: EdgeCredential
}

/** The address of the agent that has the sandbox, and may wake it. `null`: there is none. @throws if control is away */
export async function askRelease({ controlUrl, credential }: AskedForRelease, id: SandboxId): Promise<string | null> {
  const answer = await askControl(`${controlUrl}${releasePath(id)}`, credential, { body: {}, answerMs: ANSWER_MS })
  return answer === null ? null : releasedSandbox.parse(answer).agent_url
}
