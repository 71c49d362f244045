import { bytes } from '../../ui/time.tsx'

const MIB = 1024 ** 2

/** E.g. `$0.0042`: small amounts keep two digits that say something. */
export function money(usd: number): string {
  return usd !== 0 && Math.abs(usd) < 0.01
    ? `$${usd.toPrecision(2)}`
    : new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' }).format(usd)
}

/** E.g. `45 s`, `3.2 min`, `1,204.5 h`. */
export function time(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${(seconds / 60).toFixed(1)} min`
  return `${new Intl.NumberFormat('en', { maximumFractionDigits: 1 }).format(seconds / 3600)} h`
}

const count = (value: number) => new Intl.NumberFormat('en').format(value)
const mebibytes = (value: number) => bytes(value * MIB)

/** The limits of `GET /v1/usage/limits` in the order and the words of the page. */
export const LIMITS = {
  sandboxes: { label: 'Sandboxes', show: count },
  cpu: { label: 'vCPUs of sandboxes', show: count },
  memory_mib: { label: 'Memory of sandboxes', show: mebibytes },
  creates_last_hour: { label: 'Creates within the last hour', show: count },
  cpu_seconds_month: { label: 'CPU time this month', show: time },
  usage_usd_month: { label: 'Usage this month', show: money },
  credit_usd_month: { label: 'Free credit this month', show: money },
  volumes: { label: 'Volumes', show: count },
  volume_mib_included: { label: 'Storage of volumes in the price', show: mebibytes },
  webhooks: { label: 'Webhooks', show: count },
  members: { label: 'Members and invitations', show: count },
} as const
