import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { authRequest } from '../../session/token.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Card } from './card.tsx'
import { NewPassword } from './new-password.tsx'
import { serviceQuery } from './service-query.ts'
import { useAttempt } from './use-attempt.ts'
import { useEnter } from './use-enter.ts'

/** Makes an account. */
export function SignUpPage() {
  const { next } = useSearch({ from: '/sign-up' })
  const { data: service } = useQuery(serviceQuery)
  const enter = useEnter(next)
  const { error, isBusy, attempt } = useAttempt()
  const [mailedTo, setMailedTo] = useState<string | null>(null)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const { name, email, password } = Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>
    void attempt(async () => {
      const account = { name, email, password, callbackURL: '/verified' }
      const { token } = await authRequest<{ token: string | null }>('sign-up/email', account)
      if (token === null) setMailedTo(email ?? '')
      else await enter()
    })
  }
  if (mailedTo !== null) {
    return (
      <Card title="Confirm your address">
        <p>
          A mail is on its way to <span className="plaintext font-medium">{mailedTo}</span>. Open the link in it, then
          sign in.
        </p>
        <Link to="/sign-in">Sign in</Link>
      </Card>
    )
  }
  if (service?.sign_up === 'closed') {
    return (
      <Card title="Sign-up is closed">
        <p>This service takes no new accounts. Ask its operator{service.support !== null && `: ${service.support}`}.</p>
        <Link to="/sign-in">Sign in</Link>
      </Card>
    )
  }
  return (
    <Card title="Sign up for Offshoot" error={error}>
      {service?.sign_up === 'invitation' && (
        <p className="text-muted">An account takes an invitation. Use the address to which it was sent.</p>
      )}
      <form onSubmit={send} className="flex flex-col gap-4">
        <Field label="Name">
          <Input name="name" autoComplete="name" maxLength={100} required autoFocus />
        </Field>
        <Field label="Email">
          <Input name="email" type="email" autoComplete="username" required />
        </Field>
        <NewPassword />
        <Button type="submit" look="primary" busy={isBusy}>
          Sign up
        </Button>
      </form>
      <p>
        You have an account?{' '}
        <Link to="/sign-in" search={next === undefined ? {} : { next }} className="underline">
          Sign in
        </Link>
      </p>
    </Card>
  )
}
