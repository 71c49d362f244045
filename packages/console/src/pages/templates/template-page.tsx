import type { Template } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Play, Trash2, Upload } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { DeleteDialog } from '../../ui/delete-dialog.tsx'
import { Facts, Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { BuildDialog } from './build-dialog.tsx'
import { BuildsTable } from './builds-table.tsx'
import { buildsQuery, templateQuery } from './template-queries.ts'

const route = getRouteApi('/member/templates/$name')

/** One template with its builds. */
export function TemplatePage() {
  const { name } = route.useParams()
  const api = useApi()
  const template = useQuery(templateQuery(api, name))
  const builds = useQuery(buildsQuery(api, name))
  return (
    <QueryView query={template} ofPage>
      {(found) => (
        <Page
          title={name}
          description={found?.isGlobal === true && <Badge>the service's</Badge>}
          actions={found !== null && <Actions template={found} />}
        >
          <Section title="About">
            {found === null ? (
              <p className="text-muted">There is no template of this name, or it was deleted. Its builds are below.</p>
            ) : (
              <About template={found} />
            )}
          </Section>
          <Section title="Builds">
            <QueryView query={builds}>
              {(all) =>
                all.length === 0 ? (
                  <p className="text-muted">No builds of this workspace made it.</p>
                ) : (
                  <BuildsTable builds={all} />
                )
              }
            </QueryView>
          </Section>
        </Page>
      )}
    </QueryView>
  )
}

/** Fields that the page shows under other names. */
const SHOWN: ReadonlySet<string> = new Set(['cpu', 'memory_mb', 'created_at'])

/** Whether the field says something. */
const isSaying = ([key, value]: readonly [string, unknown]) =>
  !SHOWN.has(key) && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)

function About({ template }: { readonly template: Template }) {
  const meta = Object.entries(template.meta)
    .filter(isSaying)
    .map(([key, value]) => [
      key,
      <code key={key} className="plaintext text-xs">
        {(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 2000)}
      </code>,
    ])
  return (
    <Facts
      facts={{
        Size: `${template.cpu} vCPU, ${template.memoryMb} MiB`,
        'On disk': bytes(template.sizeBytes),
        Made: <Time at={template.createdAt} />,
        Changed: <Time at={template.updatedAt} />,
        ...Object.fromEntries(meta),
      }}
    />
  )
}

function Actions({ template: { name, isGlobal } }: { readonly template: Template }) {
  const api = useApi()
  const tell = useTell()
  const navigate = useNavigate()
  const [isBusy, setBusy] = useState(false)
  const [open, setOpen] = useState<'build' | 'delete' | null>(null)
  const close = () => setOpen(null)
  const start = async () => {
    setBusy(true)
    try {
      const { id } = await api.sandboxes.create({ template: name })
      await navigate({ to: '/sandboxes/$id', params: { id } })
    } catch (error) {
      tell.failed(error)
    } finally {
      setBusy(false)
    }
  }
  const remove = async () => {
    await api.templates.delete(name)
    await navigate({ to: '/templates' })
  }
  return (
    <>
      <Button look="primary" icon={<Play size={15} aria-hidden />} busy={isBusy} onClick={() => void start()}>
        New sandbox
      </Button>
      {!isGlobal && (
        <>
          <Button icon={<Upload size={15} aria-hidden />} onClick={() => setOpen('build')}>
            Build again
          </Button>
          <Button look="danger" icon={<Trash2 size={15} aria-hidden />} onClick={() => setOpen('delete')}>
            Delete
          </Button>
        </>
      )}
      {open === 'build' && <BuildDialog name={name} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog kind="template" name={name} run={remove} onClose={close} leaves>
          Nothing new is made of it. Sandboxes and snapshots of it go on.
        </DeleteDialog>
      )}
    </>
  )
}
