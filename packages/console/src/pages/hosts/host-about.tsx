import { Facts, Section } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { CordonButton } from './cordon-button.tsx'
import { DescribeButton } from './describe-button.tsx'
import type { Host } from './host-queries.ts'
import { diskOf, HostState, memoryOf } from './hosts-tab.tsx'
import { Labels } from './labels.tsx'
import { RemoveButton } from './remove-button.tsx'

/** What a host is and can, with the buttons that change it. */
export function HostAbout({ host }: { readonly host: Host }) {
  const actions = (
    <>
      <DescribeButton host={host} />
      <RemoveButton host={host} />
    </>
  )
  return (
    <Section title="About" actions={actions}>
      <Facts
        facts={{
          Id: <span className="font-mono text-xs break-all">{host.id}</span>,
          State: <HostState state={host.state} />,
          Zone: host.zone ?? 'none',
          Labels: Object.keys(host.labels).length === 0 ? 'none' : <Labels labels={host.labels} zone={null} />,
          Address: host.url,
          ...(host.state !== 'joining' && factsOfAgent(host)),
          Joined: <Time at={host.created_at} />,
        }}
      />
      {host.state === 'joining' ? (
        <p className="mt-4 text-muted">
          Control has signed its certificate, and waits for the first answer of its agent at this address. If none
          comes, look whether <code>bin/up</code> runs there, and whether control can reach the port.
        </p>
      ) : (
        <CordonButton host={host} />
      )}
    </Section>
  )
}

/** What control knows only once the agent has answered. */
function factsOfAgent(host: Host) {
  const { accelerator, accelerator_reason: reason } = host
  return {
    Version: `${host.version}, QEMU ${host.qemu_version}`,
    Accelerator: reason === null ? accelerator : `${accelerator}: ${reason}`,
    Isolation: host.isolation,
    'CPU limits': host.cpu_limits ?? 'not known',
    CPUs: host.capacity.cpus,
    Memory: memoryOf(host) ?? 'not known',
    Disk: diskOf(host) ?? 'not known',
    Lease: <Lease lease={host.lease} />,
    'Last heard': host.last_heard_at === null ? 'never' : <Time at={host.last_heard_at} />,
  }
}

function Lease({ lease }: Pick<Host, 'lease'>) {
  if (lease === null) return 'not needed'
  const { ended_at: endedAt, renewed_at: renewedAt } = lease
  return endedAt === null ? (
    <>
      renewed <Time at={renewedAt} />
    </>
  ) : (
    <>
      ended <Time at={endedAt} />
    </>
  )
}
