import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'idle' | 'neutral' | 'accent'

const TONES: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  idle: 'bg-idle-soft text-idle',
  accent: 'bg-accent-soft text-accent',
  neutral: 'bg-raised text-muted',
}

export function Badge({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {children}
    </span>
  )
}

/** The states of all kinds of objects. A word that is not listed is neutral. */
const STATES: Readonly<Record<string, Tone>> = {
  running: 'good',
  live: 'good',
  ready: 'good',
  succeeded: 'good',
  active: 'good',
  available: 'good',
  verified: 'good',
  done: 'good',
  ok: 'good',
  creating: 'accent',
  building: 'accent',
  deploying: 'accent',
  queued: 'accent',
  pending: 'accent',
  provisioning: 'accent',
  baking: 'accent',
  attached: 'accent',
  paused: 'warn',
  degraded: 'warn',
  behind: 'warn',
  expired: 'bad',
  failing: 'bad',
  hibernated: 'idle',
  sleeping: 'idle',
  deleted: 'neutral',
  failed: 'bad',
  error: 'bad',
}

export function StatusBadge({ status }: { readonly status: string }) {
  return (
    <Badge tone={STATES[status] ?? 'neutral'}>
      <span className="size-1.5 rounded-full bg-current" aria-hidden />
      {status}
    </Badge>
  )
}
