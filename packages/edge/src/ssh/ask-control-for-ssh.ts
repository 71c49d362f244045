import {
  EDGE_SSH_ADMISSIONS_PATH,
  EDGE_SSH_HOST_KEY_PATH,
  edgeSshAdmission,
  type EdgeSshAdmission,
  edgeSshHostKey,
  type EdgeSshRequest,
} from '@offshoot/contract/edge-ssh'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { askControl } from '../apps/ask-control.ts'

/** Milliseconds for one answer. */
const ANSWER_MS = 10_000

export interface AskedControl {
  readonly controlUrl: string
  readonly credential: EdgeCredential
}

/** The gateway's private key; `null`: the service has no gateway. @throws Error while control is away */
export async function askHostKey({ controlUrl, credential }: AskedControl): Promise<string | null> {
  const body = await askControl(`${controlUrl}${EDGE_SSH_HOST_KEY_PATH}`, credential, { answerMs: ANSWER_MS })
  return body === null ? null : edgeSshHostKey.parse(body).private_key
}

/** `null`: permission denied. @throws Error while control is away or too busy */
export async function askAdmission(
  { controlUrl, credential }: AskedControl,
  asked: EdgeSshRequest,
): Promise<EdgeSshAdmission | null> {
  const options = { answerMs: ANSWER_MS, body: asked }
  const body = await askControl(`${controlUrl}${EDGE_SSH_ADMISSIONS_PATH}`, credential, options)
  return body === null ? null : edgeSshAdmission.parse(body)
}
