import { useVirtualizer } from '@tanstack/react-virtual'
import { getRouteApi } from '@tanstack/react-router'
import { Pause, Play, ScrollText } from 'lucide-react'
import { useDeferredValue, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { Button } from '../../../ui/button.tsx'
import { classes } from '../../../ui/classes.ts'
import { ErrorPanel, Panel } from '../../../ui/error-panel.tsx'
import { Choice, Field, INPUT_CLASSES } from '../../../ui/field.tsx'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { LogStore, type ShownLine } from './log-store.ts'

const route = getRouteApi('/member/sandboxes/$id/logs')

const ROW_PX = 20
/** Pixels from the end within which the page follows new lines. */
const NEAR_END_PX = 60

type Stream = 'both' | 'stdout' | 'stderr'

/** The output of the sandbox's console and commands, as it appears. */
export function LogsPage() {
  const { id } = route.useParams()
  return <Logs key={id} />
}

function useLog(sandboxId: string) {
  const sandbox = useSandboxHandle(sandboxId)
  const [store] = useState(() => new LogStore((flush) => setTimeout(flush, 30)))
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const leave = new AbortController()
    const follow = async () => {
      const lines = sandbox.followLogs({ signal: leave.signal, onGap: ({ from, to }) => store.gap(to - from) })
      for await (const line of lines) store.add(line)
    }
    follow().catch((failure: unknown) => {
      if (!leave.signal.aborted) setError(failure)
    })
    return () => leave.abort()
  }, [sandbox, store, attempt])
  const lines = useSyncExternalStore(
    (changed) => store.subscribe(changed),
    () => store.lines,
  )
  const again = () => {
    setError(null)
    setAttempt(attempt + 1)
  }
  return { lines, error, again }
}

function Logs() {
  const { id } = route.useParams()
  const { lines: latest, error, again } = useLog(id)
  const [paused, setPaused] = useState<readonly ShownLine[] | null>(null)
  const [search, setSearch] = useState('')
  const [stream, setStream] = useState<Stream>('both')
  const words = useDeferredValue(search.toLowerCase())
  const lines = paused ?? latest
  const shown = useMemo(
    () =>
      words === '' && stream === 'both'
        ? lines
        : lines.filter(
            (line) =>
              line.stream === 'gap' ||
              ((stream === 'both' || line.stream === stream) && line.text.toLowerCase().includes(words)),
          ),
    [lines, words, stream],
  )
  return (
    <div className="flex h-[calc(100dvh-14rem)] min-h-80 flex-col gap-3">
      <div className="flex flex-wrap items-end gap-2">
        <Field label="Search" className="min-w-48 grow">
          <input
            type="search"
            aria-label="Search"
            value={search}
            onChange={({ currentTarget }) => setSearch(currentTarget.value)}
            className={INPUT_CLASSES}
          />
        </Field>
        <Field label="Stream">
          <Choice
            options={['both', 'stdout', 'stderr']}
            value={stream}
            onChoose={(value) => setStream(value as Stream)}
          />
        </Field>
        <Button
          aria-pressed={paused !== null}
          icon={paused === null ? <Pause size={15} aria-hidden /> : <Play size={15} aria-hidden />}
          onClick={() => setPaused(paused === null ? latest : null)}
        >
          {paused === null ? 'Pause' : `Go on (${latest.length - paused.length} new)`}
        </Button>
        <span className="pb-2 text-muted" role="status">
          {shown.length === lines.length
            ? `${lines.length.toLocaleString('en')} lines`
            : `${shown.length.toLocaleString('en')} of ${lines.length.toLocaleString('en')} lines`}
        </span>
      </div>
      {error !== null && <ErrorPanel error={error} retry={again} />}
      {shown.length === 0 && error === null ? (
        <Panel icon={<ScrollText size={28} aria-hidden />} title={lines.length === 0 ? 'No lines yet' : 'No such line'}>
          <p className="text-muted">What commands write appears here as it is written.</p>
        </Panel>
      ) : (
        <Lines lines={shown} isFollowing={paused === null} />
      )}
    </div>
  )
}

function Lines({ lines, isFollowing }: { readonly lines: readonly ShownLine[]; readonly isFollowing: boolean }) {
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => lines[index]?.key ?? index,
    estimateSize: () => ROW_PX,
    overscan: 30,
  })
  useEffect(() => {
    if (isFollowing && isAtEnd.current && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' })
  }, [virtual, lines, isFollowing])
  return (
    <div
      ref={scroller}
      role="log"
      aria-live="off"
      aria-label="Log"
      // It scrolls by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX
      }}
      className="min-h-0 grow overflow-auto rounded-lg border bg-surface font-mono text-xs"
    >
      <div className="relative min-w-max" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const line = lines[index] as ShownLine
          return (
            <div
              key={key}
              className={classes(
                'absolute top-0 left-0 flex min-w-full gap-3 px-3 leading-5 whitespace-pre',
                line.stream === 'stderr' && 'text-bad',
                line.stream === 'gap' && 'bg-warn-soft text-warn',
              )}
              style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
            >
              <time dateTime={line.ts} className="shrink-0 text-muted select-none">
                {line.ts.slice(11, 23)}
              </time>
              {line.stream === 'stderr' && <span className="sr-only">error output:</span>}
              <bdi title={line.source}>{line.text}</bdi>
            </div>
          )
        })}
      </div>
    </div>
  )
}
