import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { BookOpen, ChevronsUpDown, LogOut, Menu as MenuIcon, Monitor, Moon, Search, Sun } from 'lucide-react'
import { useState } from 'react'
import { useLive } from '../live/use-live.ts'
import { useSession } from '../session/session.tsx'
import { signOut } from '../session/token.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { Menu } from '../ui/menu.tsx'
import { useTell } from '../ui/toasts.tsx'
import { CommandMenu } from './command-menu.tsx'
import { NAVIGATION } from './navigation.ts'
import { type Theme, THEMES, useTheme } from './theme.ts'

const THEME_ICONS: Record<Theme, typeof Sun> = { system: Monitor, light: Sun, dark: Moon }

/** The frame of all pages of a workspace. */
export function Shell() {
  const [isCommandOpen, setCommandOpen] = useState(false)
  const { pathname } = useRouterState({ select: ({ location }) => location })
  const isConnected = useLive()
  // Going to another page closes the menu.
  const [menuOpenAt, setMenuOpenAt] = useState<string | null>(null)
  const isMenuOpen = menuOpenAt === pathname
  return (
    <div className="flex h-full flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-surface px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <header className="flex items-center gap-2 border-b bg-surface px-3 py-2 md:hidden">
        <IconButton
          label="Menu"
          icon={<MenuIcon size={18} aria-hidden />}
          aria-expanded={isMenuOpen}
          aria-controls="side-bar"
          onClick={() => setMenuOpenAt(isMenuOpen ? null : pathname)}
        />
        <Brand />
      </header>
      <aside
        id="side-bar"
        aria-label="Main"
        className={classes(
          'flex w-full shrink-0 flex-col gap-3 overflow-y-auto border-r bg-surface p-3 md:flex md:h-full md:w-56',
          !isMenuOpen && 'hidden',
        )}
      >
        <div className="hidden px-2 pt-1 md:block">
          <Brand />
        </div>
        <WorkspaceMenu />
        <Button
          look="plain"
          className="!justify-start !text-muted"
          icon={<Search size={15} aria-hidden />}
          onClick={() => setCommandOpen(true)}
        >
          <span className="grow text-left">Go to…</span>
          <kbd className="font-sans text-xs">Ctrl K</kbd>
        </Button>
        <Navigation onChoose={() => setMenuOpenAt(null)} />
        <div className="mt-auto flex flex-col gap-1">
          <a
            href="/docs/"
            className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-muted no-underline hover:bg-raised hover:text-ink"
          >
            <BookOpen size={16} aria-hidden /> Documentation
          </a>
          <UserMenu />
        </div>
      </aside>
      <main id="content" tabIndex={-1} className="min-h-0 min-w-0 grow overflow-y-auto outline-none">
        {!isConnected && (
          <p role="status" className="bg-warn-soft px-4 py-1.5 text-center text-sm text-warn">
            The connection is lost. Trying again…
          </p>
        )}
        <Outlet />
      </main>
      <CommandMenu open={isCommandOpen} onOpenChange={setCommandOpen} />
    </div>
  )
}

export function Brand() {
  return (
    <Link to="/" className="inline-flex items-center gap-2 font-semibold text-ink no-underline">
      <img src="/icon.svg" alt="" width={22} height={22} /> Offshoot
    </Link>
  )
}

function Navigation({ onChoose }: { readonly onChoose: () => void }) {
  const { can } = useSession()
  return (
    <nav aria-label="Pages" className="flex flex-col gap-3">
      {NAVIGATION.map((group) => (
        <ul key={group[0]?.to} className="flex flex-col gap-0.5">
          {group
            .filter(({ permission }) => permission === undefined || can(permission))
            .map(({ label, to, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  onClick={onChoose}
                  className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-muted no-underline hover:bg-raised hover:text-ink"
                  activeProps={{ className: '!bg-accent-soft !text-ink font-medium', 'aria-current': 'page' }}
                >
                  <Icon size={16} aria-hidden /> {label}
                </Link>
              </li>
            ))}
        </ul>
      ))}
    </nav>
  )
}

function WorkspaceMenu() {
  const { me, workspace, choose } = useSession()
  const entries = me.orgs.map(({ id, name }) => ({ label: name, run: () => choose(id), disabled: id === workspace.id }))
  return (
    <Menu
      trigger={
        <Button className="!justify-between" aria-label={`Workspace: ${workspace.name}`}>
          <span className="truncate">{workspace.name}</span>
          <ChevronsUpDown size={14} aria-hidden />
        </Button>
      }
      groups={[entries]}
    />
  )
}

async function leave(): Promise<void> {
  await signOut()
  // A new page: nothing of the user's stays in memory.
  location.assign('/sign-in')
}

function UserMenu() {
  const { me } = useSession()
  const [theme, setTheme] = useTheme()
  const tell = useTell()
  return (
    <Menu
      trigger={
        <Button look="quiet" className="!justify-start" aria-label={`Account: ${me.user.email}`}>
          <span className="truncate">{me.user.email}</span>
        </Button>
      }
      groups={[
        THEMES.map(({ theme: each, label }) => {
          const Icon = THEME_ICONS[each]
          return {
            label: each === theme ? `${label} ✓` : label,
            icon: <Icon size={14} aria-hidden />,
            run: () => setTheme(each),
          }
        }),
        [{ label: 'Sign out', icon: <LogOut size={14} aria-hidden />, run: () => void tell.whether(leave()) }],
      ]}
    />
  )
}
