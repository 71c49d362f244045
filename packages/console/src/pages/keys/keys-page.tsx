import { ApiKeys } from './api-keys.tsx'
import { SshKeys } from './ssh-keys.tsx'
import { Page } from '../../ui/page.tsx'

/** What opens the service for programs and for SSH. */
export function KeysPage() {
  return (
    <Page title="Keys" description="API keys belong to this workspace. SSH keys belong to you, in all your workspaces.">
      <ApiKeys />
      <SshKeys />
    </Page>
  )
}
