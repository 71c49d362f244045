import { Offshoot } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { CHOSEN_WORKSPACE } from '../../session/session.tsx'
import { freshToken, SignedOutError, signOut } from '../../session/token.ts'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { Loading } from '../../ui/query-view.tsx'
import { Card } from './card.tsx'
import { useAttempt } from './use-attempt.ts'

/** Keeps the token while the invited person signs in or up. */
const KEPT = 'offshoot-invitation'
const HERE = { next: '/invitation' }

const api = new Offshoot({ baseUrl: location.origin, jwt: freshToken })

/** Who is signed in; `null`: nobody, who then decides between signing in and signing up. */
async function readUser() {
  try {
    return (await api.me()).user
  } catch (error) {
    if (error instanceof SignedOutError) return null
    throw error
  }
}

/** The token behind `#`, which browsers send to no server. It leaves the address at once. */
function takeToken(): string | null {
  const token = location.hash.slice(1)
  if (token === '') return sessionStorage.getItem(KEPT)
  sessionStorage.setItem(KEPT, token)
  history.replaceState(history.state, '', location.pathname)
  return token
}

/** The page to which the link of an invitation leads. */
export function InvitationPage() {
  const [token] = useState(takeToken)
  const user = useQuery({ queryKey: ['invited'], queryFn: readUser })
  if (token === null) {
    return (
      <Card title="This link is not complete">
        <p>Open the link in the mail again, or copy it as a whole.</p>
      </Card>
    )
  }
  if (user.isPending) return <Loading />
  if (user.data) return <Accept token={token} email={user.data.email} />
  return (
    <Card title="You are invited" error={user.error}>
      <p>To join the workspace, use an account with the address to which the invitation was sent.</p>
      <Link to="/sign-in" search={HERE} className={buttonClasses('primary')}>
        Sign in
      </Link>
      <Link to="/sign-up" search={HERE} className={buttonClasses('plain')}>
        Sign up
      </Link>
    </Card>
  )
}

function Accept({ token, email }: { readonly token: string; readonly email: string }) {
  const navigate = useNavigate()
  const { error, isBusy, attempt } = useAttempt()
  const join = () =>
    attempt(async () => {
      const { id } = await api.workspaces.acceptInvitation(token)
      sessionStorage.removeItem(KEPT)
      sessionStorage.setItem(CHOSEN_WORKSPACE, id)
      location.assign('/')
    })
  const change = () =>
    attempt(async () => {
      await signOut()
      sessionStorage.setItem(KEPT, token)
      await navigate({ to: '/sign-in', search: HERE })
    })
  return (
    <Card title="You are invited" error={error}>
      <p>
        You are signed in as <span className="plaintext font-medium">{email}</span>. You get access as soon as you join.
      </p>
      <Button look="primary" busy={isBusy} onClick={() => void join()}>
        Join the workspace
      </Button>
      <Button disabled={isBusy} onClick={() => void change()}>
        Use another account
      </Button>
    </Card>
  )
}
