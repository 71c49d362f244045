import { GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { GuestExit } from './guest-process.ts'

/** The payload of EXIT. @throws GuestProtocolError */
export function readExitPayload(payload: Uint8Array): GuestExit {
  const [exitCode, signal] = payload
  if (exitCode === undefined || signal === undefined) throw new GuestProtocolError('bad EXIT')
  return signal === 0 ? { exitCode, signal: null } : { exitCode: null, signal }
}
