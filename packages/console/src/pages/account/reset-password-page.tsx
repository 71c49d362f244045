import { Link, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { authRequest, dropToken } from '../../session/token.ts'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { Card } from './card.tsx'
import { NewPassword } from './new-password.tsx'
import { useAttempt } from './use-attempt.ts'

/** The page to which the link of the mail leads. */
export function ResetPasswordPage() {
  const search = useSearch({ from: '/reset-password' })
  const [token] = useState(search.token)
  const { error, isBusy, attempt } = useAttempt()
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    // The token opens the account, so the history of the browser must not keep it.
    history.replaceState(history.state, '', location.pathname)
  }, [])
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const newPassword = new FormData(event.currentTarget).get('password')
    void attempt(async () => {
      await authRequest('reset-password', { token, newPassword })
      dropToken()
      setDone(true)
    })
  }
  if (isDone) {
    return (
      <Card title="The password is changed">
        <p>All sessions and tokens of the account have ended. API keys stay.</p>
        <Link to="/sign-in" className={buttonClasses('primary')}>
          Sign in
        </Link>
      </Card>
    )
  }
  if (token === undefined) {
    return (
      <Card title="This link does not work">
        <p>It was used before, or it is older than an hour.</p>
        <Link to="/forgot-password" className={buttonClasses('primary')}>
          Send a new link
        </Link>
      </Card>
    )
  }
  return (
    <Card title="Choose a new password" error={error}>
      <form onSubmit={send} className="flex flex-col gap-4">
        <NewPassword />
        <Button type="submit" look="primary" busy={isBusy}>
          Change the password
        </Button>
      </form>
    </Card>
  )
}
