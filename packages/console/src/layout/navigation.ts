import {
  AppWindow,
  Boxes,
  Database,
  Gauge,
  HardDrive,
  KeyRound,
  LayoutTemplate,
  type LucideIcon,
  ScrollText,
  Server,
  Settings,
  Users,
  Webhook,
} from 'lucide-react'
import type { Permission } from '../session/session.tsx'

export interface Destination {
  readonly label: string
  readonly to: string
  readonly icon: LucideIcon
  /** Hidden without it. */
  readonly permission?: Permission
}

/** The pages of the side bar, in groups. */
export const NAVIGATION: readonly (readonly Destination[])[] = [
  [
    { label: 'Sandboxes', to: '/sandboxes', icon: Boxes },
    { label: 'Templates', to: '/templates', icon: LayoutTemplate },
    { label: 'Databases', to: '/databases', icon: Database },
    { label: 'Apps', to: '/apps', icon: AppWindow },
    { label: 'Volumes', to: '/volumes', icon: HardDrive },
  ],
  [
    { label: 'Usage and limits', to: '/usage', icon: Gauge },
    { label: 'Members', to: '/members', icon: Users },
    { label: 'Keys', to: '/keys', icon: KeyRound },
    { label: 'Webhooks', to: '/webhooks', icon: Webhook },
    { label: 'Audit log', to: '/audit', icon: ScrollText, permission: 'audit:read' },
    { label: 'Settings', to: '/settings', icon: Settings },
  ],
  [{ label: 'Hosts', to: '/hosts', icon: Server }],
]
