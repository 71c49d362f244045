import type { Sandbox, SandboxInfo } from '@offshoot/sdk'
import { CircleX, LoaderCircle, Moon, Pause } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { useTell } from '../../ui/toasts.tsx'

interface NotRunningProps {
  readonly sandbox: SandboxInfo
  /** What needs a running sandbox, e.g. `A terminal`. */
  readonly what: string
  readonly children: ReactNode
}

/** The children while the sandbox runs; else what to do about it. A look at a page must not wake a sandbox. */
export function NotRunning({ sandbox, what, children }: NotRunningProps) {
  const { status, id } = sandbox
  switch (status) {
    case 'running':
      return children
    case 'creating':
      return <Panel icon={<LoaderCircle className="animate-spin" aria-hidden />} title="It starts…" role="status" />
    case 'failed':
      return (
        <Panel icon={<CircleX size={28} aria-hidden />} title="The sandbox failed">
          <p className="max-w-prose text-muted">{what} needs a running sandbox. The timeline has the reason.</p>
        </Panel>
      )
    case 'paused':
      return (
        <Panel icon={<Pause size={28} aria-hidden />} title="The sandbox is paused">
          <p className="max-w-prose text-muted">{what} needs a running sandbox. Its memory is kept.</p>
          <Continue sandboxId={id} label="Resume" run={async (handle) => handle.resume()} />
        </Panel>
      )
    case 'hibernated':
      return (
        <Panel icon={<Moon size={28} aria-hidden />} title="The sandbox hibernates">
          <p className="max-w-prose text-muted">{what} needs a running sandbox. Its memory is on disk.</p>
          <Continue sandboxId={id} label="Wake" run={async (handle) => handle.wake()} />
        </Panel>
      )
  }
}

interface ContinueProps {
  readonly sandboxId: string
  readonly label: string
  readonly run: (handle: Sandbox) => Promise<unknown>
}

function Continue({ sandboxId, label, run }: ContinueProps) {
  const api = useApi()
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const start = async () => {
    setBusy(true)
    await tell.whether(api.sandboxes.get(sandboxId).then(run))
    setBusy(false)
  }
  return (
    <Button look="primary" busy={isBusy} onClick={() => void start()}>
      {label}
    </Button>
  )
}
