/** The pages of the site in the order of its sidebar. A page is named by its path in the repository. */
export interface Section {
  readonly title: string
  /** Paths of Markdown files and of example programs. */
  readonly pages: readonly string[]
  /** Shown closed, unless the page is in it. */
  readonly isLong?: boolean
}

/** A page that stands under a short name in the sidebar, as guides do. Others stand under their heading. */
export const SHORT_TITLES: Readonly<Record<string, string>> = {
  'docs/README.md': 'Overview',
  'docs/http-api.md': 'HTTP API',
  'docs/identity.md': 'Accounts, members and keys',
  'docs/backup.md': 'Backup',
  'docs/recovery.md': 'Recovery',
  'docs/apps.md': 'Apps',
  'docs/audit.md': 'Audit log',
  'docs/billing.md': 'Limits, usage and billing',
  'docs/cli.md': 'The command line',
  'docs/code-interpreter.md': 'Code interpreter',
  'docs/coming-from.md': 'Coming from another service',
  'docs/databases.md': 'Databases',
  'docs/e2b.md': 'Clients of E2B',
  'docs/files.md': 'Files',
  'docs/install.md': 'Install',
  'docs/kvm.md': 'KVM',
  'docs/lifecycle.md': 'Life of a sandbox',
  'docs/lsp.md': 'Language servers',
  'docs/mcp.md': 'Model Context Protocol',
  'docs/metrics.md': 'Metrics',
  'docs/network.md': 'Network of a sandbox',
  'docs/operators.md': 'Operators',
  'docs/previews.md': 'Ports and previews',
  'docs/public-address.md': 'Public address and TLS',
  'docs/fleet.md': 'Several hosts',
  'docs/kubernetes.md': 'Kubernetes or Nomad',
  'docs/rootless.md': 'Without root',
  'docs/sdk-python.md': 'SDK for Python',
  'docs/sdk.md': 'SDK for TypeScript',
  'docs/ssh.md': 'SSH',
  'docs/telemetry.md': 'Telemetry',
  'docs/templates.md': 'Templates',
  'docs/volumes.md': 'Volumes',
  'docs/webhooks.md': 'Webhooks',
  'ARCHITECTURE.md': 'Architecture',
  'CHANGELOG.md': 'Changelog',
  'CONTRIBUTING.md': 'Contributing',
  'SECURITY.md': 'Security',
  'guest/PROTOCOL.md': 'Protocol of the guest',
}

const docs = (names: string): string[] => names.split(/\s+/).map((name) => `docs/${name}.md`)

/** @param decisions paths of the ADRs */
export function outline(decisions: readonly string[], examples: readonly string[]): Section[] {
  return [
    { title: 'Start', pages: docs('README tutorial coming-from') },
    { title: 'Examples', pages: ['docs/examples.md', ...examples] },
    { title: 'Guides: sandboxes', pages: docs('lifecycle files previews network ssh code-interpreter lsp') },
    { title: 'Guides: more than sandboxes', pages: docs('templates volumes databases apps webhooks') },
    { title: 'Guides: clients', pages: docs('cli sdk sdk-python mcp e2b') },
    { title: 'Guides: workspaces', pages: docs('identity audit billing') },
    { title: 'Explanations', pages: docs('how-a-fork-works isolation emulation neighbours') },
    {
      title: 'Operations',
      pages: docs(
        'install public-address fleet kubernetes kvm rootless backup recovery operators metrics telemetry jobs',
      ),
    },
    { title: 'Reference', pages: docs('http-api errors events lists data-directory internal-api') },
    {
      title: 'Project',
      pages: ['CHANGELOG.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CONTRIBUTING.md', 'guest/PROTOCOL.md', 'LICENSE'],
    },
    { title: 'Decisions', pages: decisions, isLong: true },
  ]
}
