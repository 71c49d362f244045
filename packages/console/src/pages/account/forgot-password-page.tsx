import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { authRequest } from '../../session/token.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Card } from './card.tsx'
import { useAttempt } from './use-attempt.ts'

/** Has a link sent that leads to {@link ResetPasswordPage}. */
export function ForgotPasswordPage() {
  const { error, isBusy, attempt } = useAttempt()
  const [mailedTo, setMailedTo] = useState<string | null>(null)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const email = new FormData(event.currentTarget).get('email') as string
    void attempt(async () => {
      await requestPasswordReset(email)
      setMailedTo(email)
    })
  }
  return (
    <Card title="Forgot the password?" error={error}>
      {mailedTo === null ? (
        <form onSubmit={send} className="flex flex-col gap-4">
          <Field label="Email">
            <Input name="email" type="email" autoComplete="username" required autoFocus />
          </Field>
          <Button type="submit" look="primary" busy={isBusy}>
            Send a link
          </Button>
        </form>
      ) : (
        <p role="status">
          If <span className="plaintext font-medium">{mailedTo}</span> has an account, a mail with a link is on its way.
          The link works once, for an hour.
        </p>
      )}
      <Link to="/sign-in">Sign in</Link>
    </Card>
  )
}

/** The service answers the same whether the account exists or not. */
export async function requestPasswordReset(email: string): Promise<void> {
  await authRequest('request-password-reset', { email, redirectTo: '/reset-password' })
}
