import { useEffect, useState } from 'react'

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** E.g. `3 minutes ago` or `in 2 hours`. */
export function relativeTime(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (['second', 1] as const)
  return unit === 'second' && Math.abs(seconds) < 5 ? 'now' : relative.format(Math.trunc(seconds / size), unit)
}

const TICK_MS = 10_000

/** A time that keeps itself true. The exact time is in its title. */
export function Time({ at }: { readonly at: string }) {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const date = new Date(at)
  return (
    <time dateTime={at} title={absolute.format(date)} className="whitespace-nowrap">
      {relativeTime(date, now)}
    </time>
  )
}

/** E.g. `850 ms`, `1.4 s`, `3 min 12 s`, `1 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`
}

/** E.g. `512 B`, `1.5 MiB`, with a space at which no line breaks. */
export function bytes(count: number): string {
  if (count < 1024) return `${count}\u00A0B`
  const power = Math.min(Math.floor(Math.log2(count) / 10), 4)
  return `${(count / 1024 ** power).toFixed(1)}\u00A0${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}
