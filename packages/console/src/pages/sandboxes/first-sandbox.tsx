import { useNavigate } from '@tanstack/react-router'
import { Boxes, KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { examplesFor } from '../keys/examples.ts'

/** Stands in the examples until there is a key. */
const PLACEHOLDER = 'ofs_…'

/** What a workspace without sandboxes shows: one click, or a few lines, to the first one. */
export function FirstSandbox() {
  const api = useApi()
  const tell = useTell()
  const navigate = useNavigate()
  const [isBusy, setBusy] = useState(false)
  const create = async () => {
    const sandbox = await api.sandboxes.create()
    await navigate({ to: '/sandboxes/$id', params: { id: sandbox.id } })
  }
  const onCreate = async () => {
    setBusy(true)
    await tell.whether(create())
    setBusy(false)
  }
  return (
    <>
      <Panel icon={<Boxes size={28} aria-hidden />} title="No sandboxes yet">
        <p className="max-w-prose text-muted">
          A sandbox is a small virtual machine that starts in a fraction of a second, and can be forked while it runs.
        </p>
        <Button look="primary" busy={isBusy} icon={<Plus size={16} aria-hidden />} onClick={() => void onCreate()}>
          Make the first sandbox
        </Button>
      </Panel>
      <Examples />
    </>
  )
}

function Examples() {
  const api = useApi()
  const tell = useTell()
  const [key, setKey] = useState<string | null>(null)
  const examples = examplesFor(api.baseUrl, key ?? PLACEHOLDER)
  const [shown, setShown] = useState('curl')
  const text = examples.find(({ label }) => label === shown)?.text ?? ''
  const makeKey = async () => setKey((await api.keys.create({ name: 'first steps' })).token)
  return (
    <section aria-label="From a program" className="mx-auto w-full max-w-3xl rounded-lg border bg-surface">
      <header className="flex flex-wrap items-center gap-1 border-b p-2">
        {examples.map(({ label: name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === shown}
            onClick={() => setShown(name)}
            className={classes(
              'cursor-pointer rounded-md px-3 py-1',
              name === shown ? 'bg-raised font-medium' : 'text-muted',
            )}
          >
            {name}
          </button>
        ))}
        <span className="grow" />
        {key === null && (
          <Button small icon={<KeyRound size={14} aria-hidden />} onClick={() => void tell.whether(makeKey())}>
            Insert a new key
          </Button>
        )}
        <CopyButton text={text} label="Copy" labelled />
      </header>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboards must be able to scroll it */}
      <pre tabIndex={0} aria-label={shown} className="overflow-x-auto p-4 font-mono text-xs leading-relaxed">
        {text}
      </pre>
      {key !== null && (
        <p className="border-t px-4 py-2 text-xs text-muted">The key is shown only now. Keys has it in its list.</p>
      )}
    </section>
  )
}
