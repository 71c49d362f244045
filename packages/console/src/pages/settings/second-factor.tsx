import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { authRequest } from '../../session/token.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { FormDialog, OnceDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { Snippet } from '../../ui/snippet.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { QrCode } from './qr-code.tsx'

interface Prepared {
  readonly totpURI: string
  readonly backupCodes: readonly string[]
}

type Step =
  | { readonly name: 'none' | 'enable' | 'disable' | 'new codes' }
  | { readonly name: 'scan'; readonly prepared: Prepared }
  | { readonly name: 'codes'; readonly codes: readonly string[] }

const NONE: Step = { name: 'none' }

/** Codes of an authenticator app after the password. */
export function SecondFactor({ isOn }: { readonly isOn: boolean }) {
  const [step, setStep] = useState<Step>(NONE)
  return (
    <Section title="Second factor">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">
          {isOn ? <Badge tone="good">on</Badge> : <Badge>off</Badge>} A sign-in with the password also takes a code of
          an authenticator app, or one of ten recovery codes.
        </p>
        {isOn ? (
          <span className="flex flex-wrap gap-2">
            <Button onClick={() => setStep({ name: 'new codes' })}>New recovery codes</Button>
            <Button look="danger" onClick={() => setStep({ name: 'disable' })}>
              Switch off
            </Button>
          </span>
        ) : (
          <Button look="primary" onClick={() => setStep({ name: 'enable' })}>
            Switch on
          </Button>
        )}
      </div>
      <Dialogs step={step} go={setStep} />
    </Section>
  )
}

function Dialogs({ step, go }: { readonly step: Step; readonly go: (step: Step) => void }) {
  const queries = useQueryClient()
  const tell = useTell()
  const close = () => go(NONE)
  const refresh = () => queries.invalidateQueries({ queryKey: ['account'] })
  if (step.name === 'enable') {
    const enable = async (password: string) =>
      go({ name: 'scan', prepared: await authRequest<Prepared>('two-factor/enable', { password }) })
    return <PasswordDialog title="Switch on the second factor" submit="Next" run={enable} onClose={close} />
  }
  if (step.name === 'scan') {
    const { prepared } = step
    const verify = async (code: string) => {
      await authRequest('two-factor/verify-totp', { code })
      go({ name: 'codes', codes: prepared.backupCodes })
      await refresh()
    }
    return <ScanDialog uri={prepared.totpURI} verify={verify} onClose={close} />
  }
  if (step.name === 'codes') return <CodesDialog codes={step.codes} onClose={close} />
  if (step.name === 'new codes') {
    const renew = async (password: string) => {
      const { backupCodes } = await authRequest<Prepared>('two-factor/generate-backup-codes', { password })
      go({ name: 'codes', codes: backupCodes })
    }
    return <PasswordDialog title="New recovery codes" submit="Make new codes" run={renew} onClose={close} />
  }
  if (step.name === 'disable') {
    const disable = async (password: string) => {
      await authRequest('two-factor/disable', { password })
      await refresh()
      tell.done('The second factor is off')
      close()
    }
    return <PasswordDialog title="Switch off the second factor" submit="Switch off" run={disable} onClose={close} />
  }
  return null
}

interface PasswordDialogProps {
  readonly title: string
  readonly submit: string
  readonly run: (password: string) => Promise<void>
  readonly onClose: () => void
}

function PasswordDialog({ title, submit, run, onClose }: PasswordDialogProps) {
  const [password, setPassword] = useState('')
  return (
    <FormDialog
      open
      title={title}
      submit={submit}
      canSubmit={password !== ''}
      leaves
      onSubmit={async () => run(password)}
      onClose={onClose}
    >
      <Field label="Password">
        <Input
          type="password"
          autoComplete="current-password"
          value={password}
          onValueChange={setPassword}
          autoFocus
          required
        />
      </Field>
    </FormDialog>
  )
}

interface ScanDialogProps {
  readonly uri: string
  readonly verify: (code: string) => Promise<void>
  readonly onClose: () => void
}

function ScanDialog({ uri, verify, onClose }: ScanDialogProps) {
  const [code, setCode] = useState('')
  return (
    <FormDialog
      open
      title="Scan this with your authenticator app"
      description="Then enter the code that the app shows."
      submit="Switch on"
      canSubmit={/^\s*\d{6}\s*$/.test(code)}
      leaves
      onSubmit={async () => verify(code.trim())}
      onClose={onClose}
    >
      <div className="flex min-w-0 flex-col gap-3">
        <div className="flex justify-center">
          <QrCode text={uri} label="QR code for the authenticator app" />
        </div>
        <Snippet label="Without a camera" text={new URL(uri).searchParams.get('secret') ?? uri} />
      </div>
      <Field label="Code">
        <Input value={code} onValueChange={setCode} inputMode="numeric" autoComplete="one-time-code" maxLength={10} />
      </Field>
    </FormDialog>
  )
}

function CodesDialog({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  return (
    <OnceDialog
      done="I have kept them"
      title="Recovery codes"
      description="Keep them where you keep no phone. Each one replaces a code once. They are shown only here."
      onClose={onClose}
    >
      <Snippet label="Recovery codes" text={codes.join('\n')} />
    </OnceDialog>
  )
}
