import { EDGE_DATABASES_PATH, edgeDatabase, type EdgeDatabase } from '@offshoot/contract/edge-database'
import type { SandboxId } from '@offshoot/contract/ids'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { askControl } from '../apps/ask-control.ts'

interface AskedControl {
  readonly controlUrl: string
  readonly credential: EdgeCredential
}

/** `null`: there is no such database. @throws if control is away */
export async function askControlForDatabase(
  { controlUrl, credential }: AskedControl,
  id: SandboxId,
): Promise<EdgeDatabase | null> {
  const answer = await askControl(`${controlUrl}${EDGE_DATABASES_PATH}/${id}`, credential)
  return answer === null ? null : edgeDatabase.parse(answer)
}
