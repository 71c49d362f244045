import { ConnectionError, OffshootError } from '@offshoot/sdk'

/*
 * Who is signed in. The session is an HttpOnly cookie, which scripts cannot read and which opens nothing but
 * `/api/auth`. From it comes a JWT of an hour, kept in the memory of this page only.
 */

/** There is no session: the user must sign in. The SDK passes its own errors on as they are. */
export class SignedOutError extends OffshootError {
  override readonly name = 'SignedOutError'
}

/** The service answered a request of the sign-in with a refusal. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly status: number
  readonly requestId: string | null

  constructor(message: string, status: number, requestId: string | null) {
    super(message)
    this.status = status
    this.requestId = requestId
  }
}

/** Milliseconds before its end at which a token is replaced. */
const RENEW_BEFORE_MS = 60_000

interface Token {
  readonly value: string
  readonly endsAtMs: number
}

let current: Token | null = null
let pending: Promise<string> | null = null
let sessionEnded: () => void = () => undefined

/** Calls back when the service says that there is no session, whichever request found that out. */
export function onSessionEnd(listener: () => void): void {
  sessionEnded = listener
}

export type TabNews = 'signed in' | 'signed out'

/** Tells the other tabs that the user signed in or out. */
const tabs = new BroadcastChannel('offshoot-session')
const tellTabs = (news: TabNews) => tabs.postMessage(news)

/** A JWT that is valid for at least a minute. @throws SignedOutError without a session */
export async function freshToken(): Promise<string> {
  if (current !== null && current.endsAtMs - RENEW_BEFORE_MS > Date.now()) return current.value
  pending ??= requestToken().finally(() => (pending = null))
  return pending
}

async function requestToken(): Promise<string> {
  const response = await reach('token')
  if (response.status === 401) {
    sessionEnded()
    throw new SignedOutError('you are signed out')
  }
  // A stream that needs a token tries again after this error only.
  if (response.status >= 500) throw new ConnectionError(`the service answered ${response.status}`)
  if (!response.ok) throw await refusal(response)
  const { token } = (await response.json()) as { token: string }
  current = { value: token, endsAtMs: endOf(token) }
  return token
}

/** Milliseconds since 1970 at which a JWT ends. */
function endOf(token: string): number {
  const payload = token.split('.')[1] ?? ''
  const { exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { exp: number }
  return exp * 1000
}

/** Forgets the token, which the service refused. */
export function dropToken(): void {
  current = null
}

/** Sends a request to a route below `/api/auth`. @throws SignInError */
export async function authRequest<T>(path: string, body: object = {}): Promise<T> {
  return answerOf<T>(
    await reach(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
}

/** The same with GET. @throws SignInError */
export async function authQuery<T>(path: string): Promise<T> {
  return answerOf<T>(await reach(path))
}

async function reach(path: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(`/api/auth/${path}`, init)
  } catch (error) {
    throw new ConnectionError('the service cannot be reached', { cause: error })
  }
}

async function answerOf<T>(response: Response): Promise<T> {
  if (!response.ok) throw await refusal(response)
  return (await response.json()) as T
}

async function refusal(response: Response): Promise<SignInError> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: string }
  return new SignInError(
    error ?? `the service answered ${response.status}`,
    response.status,
    response.headers.get('x-request-id'),
  )
}

/** Call this after a sign-in. */
export function signedIn(): void {
  current = null
  tellTabs('signed in')
}

export async function signOut(): Promise<void> {
  await authRequest('sign-out')
  current = null
  // What this tab keeps belongs to the user: the chosen workspace, or an operator's key.
  sessionStorage.clear()
  tellTabs('signed out')
}

/** Calls back when another tab signs in or out. @returns a function that ends that */
export function onOtherTab(changed: (news: TabNews) => void): () => void {
  const listener = ({ data }: MessageEvent<TabNews>) => {
    current = null
    changed(data)
  }
  tabs.addEventListener('message', listener)
  return () => tabs.removeEventListener('message', listener)
}
