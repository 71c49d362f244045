import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { THEMES, useTheme } from '../../layout/theme.ts'
import { useSession } from '../../session/session.tsx'
import { authRequest, signedIn } from '../../session/token.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { requestPasswordReset } from '../account/forgot-password-page.tsx'
import { useAttempt } from '../account/use-attempt.ts'
import { accountQuery } from './account-query.ts'
import { Passkeys } from './passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'

/** The user: the same in all workspaces. */
export function AccountSettings() {
  const account = useQuery(accountQuery)
  return (
    <QueryView query={account}>
      {({ name, email, emailVerified, twoFactorEnabled }) => (
        <>
          <Section title="You">
            <div className="flex flex-col gap-5">
              <Facts
                facts={{
                  Email: (
                    <span className="flex flex-wrap items-center gap-2">
                      {email} {!emailVerified && <Badge tone="warn">not confirmed</Badge>}
                    </span>
                  ),
                }}
              />
              {!emailVerified && <Confirm email={email} />}
              <NameForm name={name} />
            </div>
          </Section>
          <Section title="Appearance">
            <ThemeChoice />
          </Section>
          <Section title="Password">
            <Password email={email} />
          </Section>
          <SecondFactor isOn={twoFactorEnabled === true} />
          <Passkeys />
          <Sessions />
          <DeleteAccount />
        </>
      )}
    </QueryView>
  )
}

function Confirm({ email }: { readonly email: string }) {
  const tell = useTell()
  const send = () =>
    tell.whether(
      authRequest('send-verification-email', { email, callbackURL: '/verified' }),
      `A mail with a link is on its way to ${email}`,
    )
  return (
    <div>
      <Button onClick={() => void send()}>Confirm the address</Button>
    </div>
  )
}

function NameForm({ name: old }: { readonly name: string }) {
  const queries = useQueryClient()
  const tell = useTell()
  const { error, isBusy, attempt } = useAttempt()
  const [name, setName] = useState(old)
  const save = (event: FormEvent) => {
    event.preventDefault()
    void attempt(async () => {
      await authRequest('update-user', { name: name.trim() })
      await queries.invalidateQueries({
        predicate: ({ queryKey: [kind] }) => ['account', 'me', 'member'].includes(kind as string),
      })
      tell.done('Saved')
    })
  }
  return (
    <form onSubmit={save} className="flex max-w-md flex-col gap-4">
      <Field label="Name">
        <Input value={name} onValueChange={setName} maxLength={100} autoComplete="name" required />
      </Field>
      {error !== null && <ErrorText error={error} />}
      <div>
        <Button type="submit" look="primary" busy={isBusy} disabled={name.trim() === '' || name.trim() === old}>
          Save
        </Button>
      </div>
    </form>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useTheme()
  return (
    <fieldset className="flex flex-wrap gap-5">
      <legend className="sr-only">Theme</legend>
      {THEMES.map(({ theme: each, label }) => (
        <label key={each} className="flex items-center gap-2">
          <input type="radio" name="theme" checked={each === theme} onChange={() => setTheme(each)} />
          {label}
        </label>
      ))}
    </fieldset>
  )
}

function Password({ email }: { readonly email: string }) {
  const tell = useTell()
  return (
    <div className="flex flex-wrap items-center justify-between gap-3">
      <p className="max-w-prose text-muted">
        A mail brings a link that sets a new password. The change ends all sessions and tokens of the account.
      </p>
      <Button
        onClick={() => void tell.whether(requestPasswordReset(email), `A mail with a link is on its way to ${email}`)}
      >
        Change the password
      </Button>
    </div>
  )
}

function Sessions() {
  const confirm = useConfirm()
  const signOutEverywhere = () =>
    confirm({
      title: 'Sign out everywhere?',
      description: 'All sessions and tokens of your account end, also this one. API keys stay.',
      action: 'Sign out everywhere',
      run: async () => {
        await authRequest('revoke-sessions')
        signedIn()
        location.assign('/sign-in')
      },
    })
  return (
    <Section title="Sessions">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">If somebody else may have used your account, end all its sessions.</p>
        <Button look="danger" onClick={signOutEverywhere}>
          Sign out everywhere
        </Button>
      </div>
    </Section>
  )
}

function DeleteAccount() {
  const { api } = useSession()
  const [isAsking, setAsking] = useState(false)
  const [password, setPassword] = useState('')
  return (
    <Section title="Delete your account">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">
          Your memberships and all API keys that you made end. First transfer or delete the workspaces that only you
          own.
        </p>
        <Button look="danger" onClick={() => setAsking(true)}>
          Delete
        </Button>
      </div>
      {isAsking && (
        <FormDialog
          open
          look="danger"
          title="Delete your account?"
          description="This cannot be undone."
          submit="Delete the account"
          leaves
          onSubmit={async () => {
            await api.request('DELETE /v1/me', { body: password === '' ? {} : { password } })
            signedIn()
            location.assign('/sign-in')
          }}
          onClose={() => setAsking(false)}
        >
          <Field label="Password" hint="Leave it empty if you signed in without one within the last five minutes.">
            <Input
              type="password"
              autoComplete="current-password"
              value={password}
              onValueChange={setPassword}
              autoFocus
            />
          </Field>
        </FormDialog>
      )}
    </Section>
  )
}
