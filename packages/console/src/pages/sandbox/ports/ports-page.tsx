import type { Port, Sandbox, SandboxInfo } from '@offshoot/sdk'
import { queryOptions, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { ExternalLink, Eye, Globe, KeyRound, Lock, Plus, Tag, Trash2, X } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Badge } from '../../../ui/badge.tsx'
import { Button, buttonClasses, IconButton } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { FormDialog } from '../../../ui/dialog.tsx'
import { Panel } from '../../../ui/error-panel.tsx'
import { Field, Input } from '../../../ui/field.tsx'
import { Section } from '../../../ui/page.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { useTell } from '../../../ui/toasts.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { LinksDialog } from './links-dialog.tsx'

const route = getRouteApi('/member/sandboxes/$id/ports')
const ICON = { size: 14, 'aria-hidden': true } as const

/** Its key begins with that of the sandbox, whose events report ports that open and close. */
const portsQuery = (sandbox: Sandbox) =>
  queryOptions({
    queryKey: ['sandbox', sandbox.id, 'ports'],
    queryFn: async ({ signal }) => sandbox.ports.list({ signal }),
  })

type Open =
  | { readonly dialog: 'port'; readonly port: Port | null }
  | { readonly dialog: 'links'; readonly port: Port }
  | null

/** What listens in the sandbox, with previews. */
export function PortsPage() {
  const { id } = route.useParams()
  const { data: info } = useSuspenseQuery(sandboxQuery(useApi(), id))
  const sandbox = useSandboxHandle(id)
  const queries = useQueryClient()
  const tell = useTell()
  const query = useQuery(portsQuery(sandbox))
  const [open, setOpen] = useState<Open>(null)
  const [shown, setShown] = useState<Port | null>(null)
  const readAgain = async () => queries.invalidateQueries({ queryKey: portsQuery(sandbox).queryKey })
  const unname = async (port: number) => {
    await sandbox.ports.remove(port)
    await readAgain()
  }
  const isPrivate = info.visibility === 'private'
  const actions: PortActions = {
    isPrivate,
    preview: setShown,
    label: (port) => setOpen({ dialog: 'port', port }),
    links: (port) => setOpen({ dialog: 'links', port }),
    remove: ({ port }) => void tell.whether(unname(port)),
  }
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <Visibility sandbox={sandbox} info={info} />
        <Button className="ml-auto" icon={<Plus {...ICON} />} onClick={() => setOpen({ dialog: 'port', port: null })}>
          Add a port
        </Button>
      </div>
      <div className={shown === null || isPrivate ? '' : 'grid items-start gap-4 xl:grid-cols-2'}>
        <QueryView query={query}>
          {(ports) =>
            ports.length === 0 ? (
              <Panel icon={<Globe size={28} aria-hidden />} title="Nothing listens">
                <p className="max-w-prose text-muted">
                  Start a server in the sandbox, for example <code>python3 -m http.server 8000</code>. Its port appears
                  here by itself.
                </p>
              </Panel>
            ) : (
              <Table label="Ports" columns={columns(actions)} rows={ports} idOf={({ port }) => String(port)} />
            )
          }
        </QueryView>
        {shown !== null && !isPrivate && <Preview port={shown} onClose={() => setShown(null)} />}
      </div>
      {open?.dialog === 'port' && (
        <PortDialog sandbox={sandbox} port={open.port} onDone={readAgain} onClose={() => setOpen(null)} />
      )}
      {open?.dialog === 'links' && (
        <LinksDialog sandbox={sandbox} port={open.port.port} onClose={() => setOpen(null)} />
      )}
    </div>
  )
}

interface PortActions {
  readonly isPrivate: boolean
  readonly preview: (port: Port) => void
  readonly label: (port: Port) => void
  readonly links: (port: Port) => void
  readonly remove: (port: Port) => void
}

const columns = (actions: PortActions): readonly Column<Port>[] => [
  {
    title: 'Port',
    cell: ({ port, label }) => (
      <span className="flex flex-col">
        <span className="font-mono">{port}</span>
        <span className="plaintext text-xs text-muted">{label}</span>
      </span>
    ),
  },
  {
    title: 'State',
    cell: ({ listening }) => <Badge tone={listening ? 'good' : 'neutral'}>{listening ? 'listening' : 'closed'}</Badge>,
  },
  {
    title: 'Actions',
    right: true,
    cell: (port) => (
      <span className="flex flex-wrap justify-end gap-1">
        {/* A browser sends no cookie of a private preview to a frame in a page of another site. */}
        {!actions.isPrivate && (
          <Button small icon={<Eye {...ICON} />} onClick={() => actions.preview(port)}>
            Preview
          </Button>
        )}
        <a href={port.url} target="_blank" rel="noopener noreferrer" className={buttonClasses('plain', true)}>
          <ExternalLink {...ICON} /> Open
        </a>
        <CopyButton text={port.url} label={`Copy the address of port ${port.port}`} />
        <IconButton
          small
          label={`Links to port ${port.port}`}
          icon={<KeyRound {...ICON} />}
          onClick={() => actions.links(port)}
        />
        <IconButton
          small
          label={`Label port ${port.port}`}
          icon={<Tag {...ICON} />}
          onClick={() => actions.label(port)}
        />
        {port.source === 'user' && (
          <IconButton
            small
            label={`Remove the label of port ${port.port}`}
            icon={<Trash2 {...ICON} />}
            onClick={() => actions.remove(port)}
          />
        )}
      </span>
    ),
  },
]

function Visibility({ sandbox, info }: { readonly sandbox: Sandbox; readonly info: SandboxInfo }) {
  const tell = useTell()
  const queries = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const isPrivate = info.visibility === 'private'
  const change = async () => {
    setBusy(true)
    await tell.whether(sandbox.update({ visibility: isPrivate ? 'public' : 'private' }))
    await queries.invalidateQueries({ queryKey: ['sandbox', sandbox.id] })
    setBusy(false)
  }
  return (
    <p className="flex flex-wrap items-center gap-2 text-muted">
      {isPrivate ? <Lock {...ICON} /> : <Globe {...ICON} />}
      {isPrivate
        ? 'Members of the workspace and holders of a link may open the ports.'
        : 'Everybody who knows an address may open it.'}
      <Button small busy={isBusy} onClick={() => void change()}>
        {isPrivate ? 'Make public' : 'Make private'}
      </Button>
    </p>
  )
}

/** The page of a port. It has an origin of its own, and may not lead this page elsewhere. */
function Preview({ port: { port, url }, onClose }: { readonly port: Port; readonly onClose: () => void }) {
  return (
    <Section
      title={`Preview of port ${port}`}
      actions={<IconButton small label="Close the preview" icon={<X {...ICON} />} onClick={onClose} />}
    >
      <iframe
        key={url}
        src={url}
        title={`Preview of port ${port}`}
        // Its origin is not that of the console, so it cannot remove these limits.
        // oxlint-disable-next-line react/iframe-missing-sandbox
        sandbox="allow-scripts allow-forms allow-same-origin allow-popups allow-modals allow-downloads"
        referrerPolicy="no-referrer"
        className="h-[60dvh] w-full rounded-md border bg-white"
      />
    </Section>
  )
}

interface PortDialogProps {
  readonly sandbox: Sandbox
  /** `null` for a new one. */
  readonly port: Port | null
  readonly onDone: () => Promise<unknown>
  readonly onClose: () => void
}

const MAX_PORT = 65_535

function PortDialog({ sandbox, port, onDone, onClose }: PortDialogProps) {
  const [number, setNumber] = useState(port === null ? '' : String(port.port))
  const [label, setLabel] = useState(port?.label ?? '')
  const isNumber = /^\d+$/.test(number) && Number(number) >= 1 && Number(number) <= MAX_PORT
  const save = async () => {
    await sandbox.ports.add(Number(number), label === '' ? {} : { label })
    await onDone()
  }
  return (
    <FormDialog
      title={port === null ? 'Add a port' : `Label port ${port.port}`}
      open
      submit="Save"
      canSubmit={isNumber}
      onSubmit={save}
      onClose={onClose}
    >
      <Field label="Port" error={number === '' || isNumber ? null : `A number from 1 to ${MAX_PORT}.`}>
        <Input value={number} onValueChange={setNumber} inputMode="numeric" disabled={port !== null} required />
      </Field>
      <Field label="Label">
        <Input value={label} onValueChange={setLabel} />
      </Field>
    </FormDialog>
  )
}
