import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { Fingerprint } from 'lucide-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { authRequest, SignInError } from '../../session/token.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Card } from './card.tsx'
import { signInWithPasskey } from './passkeys.ts'
import { serviceQuery } from './service-query.ts'
import { useAttempt } from './use-attempt.ts'
import { useEnter } from './use-enter.ts'

/** Signs in by the link that the set-up printed, by a passkey, by a provider, or by password and, where it is on, a code. */
export function SignInPage() {
  const { next, error: refusedByProvider } = useSearch({ from: '/sign-in' })
  const enter = useEnter(next)
  const { error, isBusy, attempt } = useAttempt()
  const [needsCode, setNeedsCode] = useState(false)
  const [email, setEmail] = useState('')

  const hasTried = useRef(false)
  useEffect(() => {
    const token = location.hash.slice(1)
    // A link signs in once, and this effect may run twice.
    if (token === '' || hasTried.current) return
    hasTried.current = true
    history.replaceState(history.state, '', location.pathname + location.search)
    void attempt(async () => {
      await authRequest('sign-in/link', { token })
      await enter()
    })
  })

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const field = (name: string) => form.get(name) as string
    void attempt(async () => {
      if (needsCode) {
        const [code, trustDevice] = [field('code').trim(), form.has('trust')]
        const path = /^\d{6}$/.test(code) ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code'
        await authRequest(path, { code, trustDevice })
        return enter()
      }
      const credentials = { email, password: field('password'), callbackURL: '/verified' }
      const answer = await authRequest<{ twoFactorRedirect?: boolean }>('sign-in/email', credentials)
      if (answer.twoFactorRedirect === true) setNeedsCode(true)
      else await enter()
    })
  }
  const withPasskey = () =>
    attempt(async () => {
      await signInWithPasskey()
      await enter()
    })
  const providerError = refusedByProvider === undefined ? null : new Error(`The provider refused: ${refusedByProvider}`)
  const isUnconfirmed = error instanceof SignInError && error.status === 403

  if (needsCode) {
    return (
      <Card title="Enter your code" error={error}>
        <form onSubmit={send} className="flex flex-col gap-4">
          <Field label="Code" hint="Six digits of your authenticator app, or a recovery code.">
            <Input name="code" autoComplete="one-time-code" required autoFocus />
          </Field>
          <label className="flex items-center gap-2">
            <input type="checkbox" name="trust" /> Ask for no code on this device for 30 days
          </label>
          <Button type="submit" look="primary" busy={isBusy}>
            Sign in
          </Button>
        </form>
      </Card>
    )
  }
  return (
    <Card title="Sign in to Offshoot" error={error ?? providerError}>
      {isUnconfirmed && <SendConfirmation email={email} />}
      <form onSubmit={send} className="flex flex-col gap-4">
        <Field label="Email">
          <Input
            name="email"
            type="email"
            autoComplete="username"
            value={email}
            onValueChange={setEmail}
            required
            autoFocus
          />
        </Field>
        <Field label="Password">
          <Input name="password" type="password" autoComplete="current-password" required />
        </Field>
        <Button type="submit" look="primary" busy={isBusy}>
          Sign in
        </Button>
      </form>
      <Button icon={<Fingerprint size={16} aria-hidden />} disabled={isBusy} onClick={() => void withPasskey()}>
        Sign in with a passkey
      </Button>
      <OtherWays next={next} attempt={attempt} />
      <p className="text-xs text-muted">
        On your own machine, <code>bin/up</code> prints a link that signs in, and <code>credentials.json</code> in the
        data directory has the first password.
      </p>
    </Card>
  )
}

interface OtherWaysProps {
  readonly next: string | undefined
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>
}

/** Providers, and the pages for those who have no account or no password. */
function OtherWays({ next, attempt }: OtherWaysProps) {
  const { data: service } = useQuery(serviceQuery)
  const withProvider = (provider: string) =>
    attempt(async () => {
      const pages = { callbackURL: next ?? '/', newUserCallbackURL: next ?? '/', errorCallbackURL: '/sign-in' }
      const { url } = await authRequest<{ url: string }>('sign-in/social', { provider, ...pages })
      location.assign(url)
    })
  return (
    <>
      {service?.sign_in_providers.map(({ id, name }) => (
        <Button key={id} onClick={() => void withProvider(id)}>
          Sign in with {name}
        </Button>
      ))}
      <p className="flex justify-between gap-4">
        <Link to="/forgot-password">Forgot the password?</Link>
        {service !== undefined && service.sign_up !== 'closed' && (
          <Link to="/sign-up" search={next === undefined ? {} : { next }}>
            Sign up
          </Link>
        )}
      </p>
    </>
  )
}

/** A sign-in is refused with 403 until the address is confirmed. */
function SendConfirmation({ email }: { readonly email: string }) {
  const [isSent, setSent] = useState(false)
  const { error, isBusy, attempt } = useAttempt()
  const send = () =>
    attempt(async () => {
      await authRequest('send-verification-email', { email, callbackURL: '/verified' })
      setSent(true)
    })
  if (isSent) return <p role="status">A mail is on its way to {email}. Open the link in it, then sign in.</p>
  return (
    <Button busy={isBusy} onClick={() => void send()}>
      {error === null ? 'Send the confirmation mail again' : 'It failed. Try again'}
    </Button>
  )
}
