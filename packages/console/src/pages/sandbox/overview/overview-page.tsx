import { useSuspenseQuery } from '@tanstack/react-query'
import type { SandboxInfo } from '@offshoot/sdk'
import { getRouteApi, Link } from '@tanstack/react-router'
import { LayoutTemplate } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Button } from '../../../ui/button.tsx'
import { Facts, Section } from '../../../ui/page.tsx'
import { duration, Time } from '../../../ui/time.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { LifecycleSection } from './lifecycle-section.tsx'
import { SnapshotsSection } from './snapshots-section.tsx'
import { TemplateDialog } from './template-dialog.tsx'
import { UseSection } from './use-section.tsx'

const route = getRouteApi('/member/sandboxes/$id')

/** What the sandbox is, how long it lives, and how to use it. */
export function OverviewPage() {
  const { id } = route.useParams()
  const { data: info } = useSuspenseQuery(sandboxQuery(useApi(), id))
  const sandbox = useSandboxHandle(id)
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <About info={info} />
      <LifecycleSection sandbox={sandbox} />
      <UseSection id={id} />
      <SnapshotsSection sandbox={sandbox} />
    </div>
  )
}

function About({ info }: { readonly info: SandboxInfo }) {
  const sandbox = useSandboxHandle(info.id)
  const [isMaking, setMaking] = useState(false)
  const { parentId, fromSnapshot, volumes, network, metadata } = info
  const tags = Object.entries(metadata)
  return (
    <Section
      title="About"
      actions={
        <Button small icon={<LayoutTemplate size={14} aria-hidden />} onClick={() => setMaking(true)}>
          Make a template
        </Button>
      }
    >
      <Facts
        facts={{
          Template: info.template,
          Size: `${info.cpu} vCPU, ${info.memoryMb} MiB`,
          Made: <Time at={info.createdAt} />,
          'Boot time': info.bootMs === null ? 'not known' : `${duration(info.bootMs)}${modeOf(info)}`,
          Address: info.guestIp ?? 'none',
          Network: network.egress === 'none' ? 'none' : `egress: ${textOf(network.egress)}`,
          Volumes: volumes.length === 0 ? 'none' : volumes.map(volumeText).join(', '),
          Previews: info.visibility,
          ...(parentId !== null && {
            Parent: (
              <Link to="/sandboxes/$id" params={{ id: parentId }} className="font-mono text-xs">
                {parentId}
              </Link>
            ),
          }),
          ...(fromSnapshot !== null && { Snapshot: <span className="font-mono text-xs">{fromSnapshot}</span> }),
          ...(info.managedBy !== null && { 'Belongs to': info.managedBy === 'app' ? 'an app' : 'a database' }),
          Tags:
            tags.length === 0 ? (
              'none'
            ) : (
              <ul className="flex flex-wrap gap-1">
                {tags.map(([name, value]) => (
                  <li key={name} className="plaintext rounded bg-raised px-1.5 text-xs">
                    {name}={value}
                  </li>
                ))}
              </ul>
            ),
        }}
      />
      {isMaking && <TemplateDialog sandbox={sandbox} onClose={() => setMaking(false)} />}
    </Section>
  )
}

const modeOf = ({ bootMode }: SandboxInfo) => (bootMode === null ? '' : `, from ${bootMode}`)
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const volumeText = ({ name, readOnly }: SandboxInfo['volumes'][number]) => `${name}${readOnly ? ' (read only)' : ''}`
