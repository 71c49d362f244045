import { call } from '../tests/setup/http.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, Samples } from './measure.ts'

const ROUNDS = 5

/** From sign-up to the output of the first command, through the public API only, including an API key. */
export async function signUpToFirstExec(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const samples = new Samples()
  for (let round = 0; round < ROUNDS; round++) {
    const done = await samples.time(async () =>
      firstExec(offshoot.credentials.base_url, `bench-${process.pid}-${round}`),
    )
    if (done) await call('DELETE', done.url, { headers: { authorization: `Bearer ${done.key}` } })
  }
  const inSeconds = samples.figure('s')
  return {
    signup_to_first_exec_s: {
      ...inSeconds,
      p50: samples.p50 / 1000,
      p95: inSeconds.p95 / 1000,
      p99: inSeconds.p99 / 1000,
    },
  }
}

async function firstExec(baseUrl: string, name: string): Promise<{ url: string; key: string }> {
  const ask = async (method: string, path: string, status: number, token: string | null, body?: object) => {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const answer = await call(method, baseUrl + path, { headers, ...(body && { body }) })
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
    return answer.body
  }
  const account = { email: `${name}@example.com`, password: 'a horse that nobody guesses', name }
  const { token: session } = await ask('POST', '/api/auth/sign-up/email', 200, null, account)
  const { token: jwt } = await ask('GET', '/api/auth/token', 200, session)
  const { token: key } = await ask('POST', '/v1/me/tokens', 201, jwt, { name: 'first' })
  const { id } = await ask('POST', '/v1/sandboxes', 201, key, { template: 'base' })
  const { stdout } = await ask('POST', `/v1/sandboxes/${id}/exec`, 200, key, { cmd: 'echo hello' })
  if (stdout !== 'hello\n') throw new Error(`the first command said ${JSON.stringify(stdout)}`)
  return { url: `${baseUrl}/v1/sandboxes/${id}`, key }
}
