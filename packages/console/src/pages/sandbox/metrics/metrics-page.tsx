import type { SandboxMetrics } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Activity } from 'lucide-react'
import { useMemo } from 'react'
import { Panel } from '../../../ui/error-panel.tsx'
import { Section } from '../../../ui/page.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { bytes } from '../../../ui/time.tsx'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { Chart } from './chart.tsx'
import { seriesOf } from './series.ts'

const route = getRouteApi('/member/sandboxes/$id/metrics')

/** The agent takes a sample every ten seconds. The API does not stream them, so a page in view asks for each. */
const SAMPLE_SECONDS = 10

/** What the sandbox used during the last hour. */
export function MetricsPage() {
  const { id } = route.useParams()
  const sandbox = useSandboxHandle(id)
  const query = useQuery({
    queryKey: ['sandbox', id, 'metrics'],
    queryFn: async ({ signal }) => sandbox.metrics({ step: SAMPLE_SECONDS, signal }),
    staleTime: 0,
    refetchInterval: SAMPLE_SECONDS * 1000,
  })
  return <QueryView query={query}>{(metrics) => <Charts metrics={metrics} />}</QueryView>
}

const percent = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} %`
const size = (value: number) => bytes(Math.round(value))
const rate = (value: number) => `${bytes(Math.round(value))}/s`

function Charts({ metrics: { points, now } }: { readonly metrics: SandboxMetrics }) {
  const series = useMemo(() => seriesOf(points), [points])
  const { times } = series
  const guest = now.memoryGuestUsedBytes
  const used = guest === null ? 'not known' : bytes(guest)
  if (points.length === 0) {
    return (
      <Panel icon={<Activity size={28} aria-hidden />} title="No samples in the last hour">
        <p className="text-muted">A sample is taken every ten seconds while the sandbox has a VM.</p>
      </Panel>
    )
  }
  return (
    <div className="grid gap-4 xl:grid-cols-2">
      <Section title="CPU" actions={<Now text={`${now.cpuSeconds.toFixed(1)} s in all`} />}>
        <Chart
          label="CPU time in percent of one vCPU, last hour"
          times={times}
          lines={[{ label: 'CPU', color: '--accent', values: series.cpu }]}
          format={percent}
        />
      </Section>
      <Section title="Memory" actions={<Now text={`${used} used in the sandbox`} />}>
        <Chart
          label="Memory in bytes, last hour"
          times={times}
          lines={[
            { label: 'in the sandbox', color: '--accent', values: series.memoryGuest },
            { label: 'on the host alone', color: '--idle', values: series.memoryHost },
          ]}
          format={size}
          isBytes
        />
      </Section>
      <Section title="Disk" actions={<Now text={`${bytes(now.diskBytes)} written by it`} />}>
        <Chart
          label="Disk space in bytes, last hour"
          times={times}
          lines={[{ label: 'Disk', color: '--accent', values: series.disk }]}
          format={size}
          isBytes
        />
      </Section>
      <Section title="Network" actions={<Now text={networkText(now)} />}>
        <Chart
          label="Network traffic in bytes per second, last hour"
          times={times}
          lines={[
            { label: 'in', color: '--accent', values: series.networkIn },
            { label: 'out', color: '--idle', values: series.networkOut },
          ]}
          format={rate}
          isBytes
        />
      </Section>
    </div>
  )
}

function networkText({ networkInBytes, networkOutBytes }: SandboxMetrics['now']): string {
  if (networkInBytes === null || networkOutBytes === null) return 'not counted on this host'
  return `${bytes(networkInBytes)} in, ${bytes(networkOutBytes)} out in all`
}

function Now({ text }: { readonly text: string }) {
  return <span className="text-muted">{text}</span>
}
