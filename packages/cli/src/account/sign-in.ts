import type { Cli } from '../frame/cli.ts'
import { reach } from '../frame/client.ts'
import { EXIT, Failure } from '../frame/failure.ts'
import { refusal } from '../frame/failure-of.ts'
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
  // The SDK shows no cookies, and the second step of a sign-in needs the one of the first.
  const response = await reach(baseUrl, fetch(`${baseUrl}/api/auth/${path}`, request))
  const text = await response.text()
  if (response.ok) {
    const cookies = response.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
    return [JSON.parse(text) as Answer, cookies.join('; ')]
  }
  const failure = refusal({
    status: response.status,
    body: bodyOf(text),
    requestId: response.headers.get('x-request-id'),
  })
  if (response.status !== 401) throw failure
  throw new Failure(failure.message, {
    exitCode: EXIT.noPermission,
    next: 'check the address and the password',
    requestId: failure.requestId,
  })
}

function bodyOf(text: string): { error: string } {
  const { error, message } = parsed(text)
  return { error: error ?? message ?? 'the server refused' }
}

/** Content that is no JSON is reported like an object without a text. */
function parsed(text: string): Answer {
  try {
    return (JSON.parse(text) ?? {}) as Answer
  } catch {
    return {}
  }
}
