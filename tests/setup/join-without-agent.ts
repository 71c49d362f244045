import { HOST_JOIN_PATH } from '@offshoot/contract/host-enrolment'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { call } from './http.ts'
import type { Offshoot } from './offshoot.ts'

/** Addresses of documentation: nothing answers there. */
export const NOWHERE = 'https://192.0.2.7:7443'

/** Joins a host whose agent never answers control. @returns its id */
export async function joinWithoutAgent({ credentials }: Offshoot): Promise<string> {
  const { base_url: url, operator_key: key } = credentials
  const made = await call('POST', `${url}/v1/admin/hosts/tokens`, { headers: { authorization: `Bearer ${key}` } })
  const body = { request: await certificateRequest(makePrivateKey()), url: NOWHERE }
  const headers = { authorization: `Bearer ${made.body.token}` }
  const joined = await call('POST', url + HOST_JOIN_PATH, { headers, body })
  return joined.body.host_id
}
