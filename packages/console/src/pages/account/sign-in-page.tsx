import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { authRequest, signedIn } from '../../session/token.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Field, Input } from '../../ui/field.tsx'

/** Signs in by the link that the set-up printed, or by password and, where it is on, a code. */
export function SignInPage() {
  const { next } = useSearch({ from: '/sign-in' })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [needsCode, setNeedsCode] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)

  const enter = async () => {
    signedIn()
    queries.clear()
    await navigate({ href: next ?? '/', replace: true })
  }
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }

  const hasTried = useRef(false)
  useEffect(() => {
    document.title = 'Sign in · Offshoot'
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
        const code = field('code').trim()
        await authRequest(/^\d{6}$/.test(code) ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code', { code })
        return enter()
      }
      const credentials = { email: field('email'), password: field('password') }
      const answer = await authRequest<{ twoFactorRedirect?: boolean }>('sign-in/email', credentials)
      if (answer.twoFactorRedirect === true) setNeedsCode(true)
      else await enter()
    })
  }

  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <form onSubmit={send} className="flex w-full max-w-sm flex-col gap-4 rounded-xl border bg-surface p-6 shadow-sm">
        <div className="flex items-center gap-3">
          <img src="/icon.svg" alt="" width={32} height={32} />
          <h1 className="text-lg font-semibold">{needsCode ? 'Enter your code' : 'Sign in to Offshoot'}</h1>
        </div>
        {needsCode ? (
          <Field label="Code" hint="Six digits of your authenticator app, or a recovery code.">
            <Input name="code" autoComplete="one-time-code" required autoFocus />
          </Field>
        ) : (
          <>
            <Field label="Email">
              <Input name="email" type="email" autoComplete="username" required autoFocus />
            </Field>
            <Field label="Password">
              <Input name="password" type="password" autoComplete="current-password" required />
            </Field>
          </>
        )}
        {error !== null && <ErrorText error={error} />}
        <Button type="submit" look="primary" busy={isBusy}>
          Sign in
        </Button>
        {!needsCode && (
          <p className="text-xs text-muted">
            On your own machine, <code>bin/up</code> prints a link that signs in, and <code>credentials.json</code> in
            the data directory has the first password.
          </p>
        )}
      </form>
    </main>
  )
}
