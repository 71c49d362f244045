import type { Cli } from '../frame/cli.ts'
import { refusal, unreachable } from '../frame/api.ts'
import { EXIT, Failure } from '../frame/failure.ts'
import { ask, isInteractive } from '../frame/questions.ts'

interface Answer {
  readonly token?: string
  readonly twoFactorRedirect?: boolean
  readonly error?: string
  readonly message?: string
}

/** Attempts to type the code of a second factor. */
const CODE_ATTEMPTS = 3

/** Signs in with an account, also with a second factor. @returns the token of the session */
export async function signIn(cli: Cli, email: string, password: string): Promise<string> {
  const [answer, cookie] = await post(cli, 'sign-in/email', { email, password })
  if (answer.token !== undefined) return answer.token
  if (answer.twoFactorRedirect !== true) throw new Failure('the server began no session')
  if (!isInteractive(cli))
    throw new Failure('this account has a second factor', {
      exitCode: EXIT.noPermission,
      next: 'sign in on a terminal, or with an API key',
    })
  for (let attempt = 1; ; attempt++) {
    const code = (await ask(cli, 'Code of the authenticator app, or a recovery code')).replaceAll(' ', '')
    const route = /^\d{6}$/.test(code) ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code'
    try {
      const [{ token }] = await post(cli, route, { code }, cookie)
      if (token !== undefined) return token
    } catch (error) {
      const isWrong = error instanceof Failure && error.exitCode === EXIT.noPermission
      if (!isWrong || attempt === CODE_ATTEMPTS) throw error
      cli.out.note('That code is wrong.')
    }
  }
}

async function post(cli: Cli, path: string, body: object, cookie = ''): Promise<[Answer, string]> {
  const { baseUrl, signal } = cli
  const headers = {
    'content-type': 'application/json',
    ...(cookie !== '' && { cookie, origin: new URL(baseUrl).origin }),
  }
  const request = { method: 'POST', headers, body: JSON.stringify(body), signal }
  const response = await fetch(`${baseUrl}/api/auth/${path}`, request).catch((error: unknown) => {
    throw signal.aborted ? error : unreachable(baseUrl, error)
  })
  const text = await response.text()
  if (response.ok) {
    const cookies = response.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
    return [JSON.parse(text) as Answer, cookies.join('; ')]
  }
  const failure = refusal(response.status, text, response.headers.get('x-request-id'), baseUrl)
  if (response.status !== 401) throw failure
  throw new Failure(failure.message, {
    exitCode: EXIT.noPermission,
    next: 'check the address and the password',
    requestId: failure.requestId,
  })
}
