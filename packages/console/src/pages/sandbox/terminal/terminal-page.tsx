import { Tabs } from '@base-ui/react/tabs'
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Accessibility, AArrowDown, AArrowUp, Maximize2, Plus, X } from 'lucide-react'
import { useMemo, useRef } from 'react'
import { useIsDark } from '../../../layout/theme.ts'
import { useApi } from '../../../session/session.tsx'
import { IconButton } from '../../../ui/button.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'
import { NotRunning } from '../not-running.tsx'
import { MAX_SESSIONS, titleOf, useOpenSessions, withNew, without } from './open-sessions.ts'
import { FONT_SIZES, usePreferences } from './preferences.ts'
import { TerminalView } from './terminal-view.tsx'

const route = getRouteApi('/member/sandboxes/$id')
const ICON = { size: 16, 'aria-hidden': true } as const

/** Terminals of the sandbox. They go on without the page, and come back with it. */
export function TerminalPage() {
  const { id } = route.useParams()
  const { data: sandbox } = useSuspenseQuery(sandboxQuery(useApi(), id))
  return (
    <NotRunning sandbox={sandbox} what="A terminal">
      <Terminals key={id} sandboxId={id} />
    </NotRunning>
  )
}

function Terminals({ sandboxId }: { readonly sandboxId: string }) {
  const [sessions, setSessions] = useOpenSessions(sandboxId)
  const [preferences, setPreferences] = usePreferences()
  const { fontSize, screenReader } = preferences
  const isDark = useIsDark()
  const options = useMemo(() => ({ isDark, fontSize, screenReader }), [isDark, fontSize, screenReader])
  const frame = useRef<HTMLDivElement>(null)
  const leave = () => frame.current?.querySelector<HTMLElement>('[role=tab][aria-selected=true]')?.focus()
  return (
    <Tabs.Root
      ref={frame}
      value={sessions.active}
      onValueChange={(active: string) => setSessions({ ...sessions, active })}
      className="flex h-[calc(100dvh-18rem)] sm:h-[calc(100dvh-14rem)] min-h-80 flex-col overflow-hidden rounded-lg border bg-surface"
    >
      <div className="flex flex-wrap items-center justify-end gap-1 border-b px-1">
        <Tabs.List aria-label="Terminals" className="flex w-full min-w-0 grow overflow-x-auto sm:w-auto sm:basis-40">
          {sessions.names.map((name) => (
            <Tabs.Tab
              key={name}
              value={name}
              className="shrink-0 cursor-pointer border-b-2 border-transparent px-3 py-2 text-muted hover:text-ink data-active:border-accent data-active:text-ink"
            >
              {titleOf(name)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <IconButton
          small
          label="New terminal"
          icon={<Plus {...ICON} />}
          disabled={sessions.names.length >= MAX_SESSIONS}
          onClick={() => setSessions(withNew(sessions))}
        />
        <IconButton
          small
          label={`Close ${titleOf(sessions.active)}. Its programs go on`}
          icon={<X {...ICON} />}
          disabled={sessions.names.length === 1}
          onClick={() => setSessions(without(sessions, sessions.active))}
        />
        <span className="mx-1 h-5 border-l" aria-hidden />
        <IconButton
          small
          label="Smaller text"
          icon={<AArrowDown {...ICON} />}
          disabled={fontSize <= FONT_SIZES.min}
          onClick={() => setPreferences({ fontSize: fontSize - 1 })}
        />
        <IconButton
          small
          label="Larger text"
          icon={<AArrowUp {...ICON} />}
          disabled={fontSize >= FONT_SIZES.max}
          onClick={() => setPreferences({ fontSize: fontSize + 1 })}
        />
        <IconButton
          small
          label="Read output to screen readers"
          icon={<Accessibility {...ICON} />}
          aria-pressed={screenReader}
          className={screenReader ? '!bg-accent-soft' : ''}
          onClick={() => setPreferences({ screenReader: !screenReader })}
        />
        <IconButton
          small
          label="Full screen"
          icon={<Maximize2 {...ICON} />}
          onClick={() =>
            void (document.fullscreenElement ? document.exitFullscreen() : frame.current?.requestFullscreen())
          }
        />
      </div>
      {sessions.names.map((name) => (
        <Tabs.Panel key={name} value={name} keepMounted tabIndex={-1} className="min-h-0 grow p-1 pl-2 outline-none">
          <TerminalView
            sandboxId={sandboxId}
            session={name}
            isShown={name === sessions.active}
            options={options}
            onLeave={leave}
            onClose={() => setSessions(without(sessions, name))}
          />
        </Tabs.Panel>
      ))}
      <p className="hidden border-t px-3 py-1 text-xs text-muted sm:block">
        <kbd>Ctrl</kbd>+<kbd>Shift</kbd>+<kbd>Esc</kbd> or <kbd>Ctrl</kbd>+<kbd>F6</kbd> leaves the terminal. Terminals
        go on without this page.
      </p>
    </Tabs.Root>
  )
}
