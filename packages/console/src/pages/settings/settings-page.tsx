import { Outlet } from '@tanstack/react-router'
import { Page } from '../../ui/page.tsx'
import { TabLinks } from '../../ui/tabs.tsx'

/** The frame of the settings of the workspace and of the account. */
export function SettingsPage() {
  return (
    <Page title="Settings">
      <TabLinks
        label="Settings"
        tabs={[
          { label: 'Workspace', link: { to: '/settings', activeOptions: { exact: true } } },
          { label: 'Account', link: { to: '/settings/account' } },
        ]}
      />
      <Outlet />
    </Page>
  )
}
