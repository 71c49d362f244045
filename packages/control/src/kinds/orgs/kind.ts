import type { Kind } from '../../fleet/kind.ts'
import { auditRoutes, operatedAuditRoutes } from './audit/audit-routes.ts'
import { getChanges } from './changes/get-changes.ts'
import { accountOperations } from './identity/account-operations.ts'
import { accountsRoutes } from './identity/accounts-routes.ts'
import { deleteMe } from './identity/delete-me.ts'
import { deleteToken, deleteTokens } from './identity/delete-token.ts'
import { getMe } from './identity/get-me.ts'
import { getService } from './identity/get-service.ts'
import { getTokens } from './identity/get-tokens.ts'
import { addOidcProviders } from './identity/oidc-providers.ts'
import { postAccessTokens } from './identity/post-access-tokens.ts'
import { postCurrentOrg } from './identity/post-current-org.ts'
import { postTokens } from './identity/post-tokens.ts'
import { keepAuthority } from '../../fleet/authority-rotation.ts'
import { removeOldReports } from '../../fleet/fleet-authority-statements.ts'
import { removeOldHostTokens } from '../../fleet/host-statements.ts'
import { removeOldInvitations } from './identity/invitation-statements.ts'
import { removeOldCodes } from './identity/used-code-statements.ts'
import { authorityRoutes } from './operators/authority-routes.ts'
import { getAdminMetrics } from './operators/get-admin-metrics.ts'
import { getHostDisk } from './operators/get-host-disk.ts'
import { edgeHostRoutes } from './operators/edge-host-routes.ts'
import { getHosts } from './operators/get-hosts.ts'
import { getOperatedOrgs } from './operators/get-operated-orgs.ts'
import { hostCordonRoutes } from './operators/host-cordon.ts'
import { hostEnrolmentRoutes } from './operators/host-enrolment.ts'
import { hostQuarantineRoutes } from './operators/host-quarantine.ts'
import { hostReconcileRoutes } from './operators/host-reconcile.ts'
import { hostTokenRoutes } from './operators/host-tokens.ts'
import { jobRoutes } from './operators/job-routes.ts'
import { keepKeys, keyRoutes, refreshKeys } from './operators/key-routes.ts'
import { operatorKeyRoutes } from './operators/operator-key-routes.ts'
import { operatorRoutes } from './operators/operator-routes.ts'
import { patchHost } from './operators/patch-host.ts'
import { removeHost } from './operators/remove-host.ts'
import { edgeSshRoutes } from './ssh/edge-ssh-routes.ts'
import { sshGatewayRoutes } from './ssh/ssh-gateway-routes.ts'
import { sshKeyRoutes } from './ssh/ssh-key-routes.ts'
import { lane } from '../../platform/jobs/task.ts'
import { orgRoutes } from './org-routes.ts'
import type { OrgsContext } from './identity/orgs-context.ts'

/** Milliseconds between two attempts to reach a provider that could not be reached. */
const PROVIDERS_EVERY_MS = 5_000
/** Milliseconds between two rounds of the key rotation. Well below the time until a new key is used. */
const KEYS_EVERY_MS = 5_000
/** Milliseconds until every process knows that a host is cordoned or lost, its labels, and what workspaces require. */
const STATES_EVERY_MS = 1_000

/** Milliseconds between two looks at the rows of hosts that have joined. */
const HOSTS_EVERY_MS = 1_000

/** Users, workspaces, members, invitations, API keys, operators, and the audit log. */
export const orgs: Kind<OrgsContext> = {
  name: 'orgs',
  routes(app, control) {
    accountsRoutes(app, control)
    getService(app, control)
    getMe(app)
    deleteMe(app, control)
    postCurrentOrg(app, control)
    postTokens(app, control)
    getTokens(app, control)
    getChanges(app, control)
    deleteToken(app, control)
    deleteTokens(app, control)
    postAccessTokens(app, control)
    auditRoutes(app, control)
    operatedAuditRoutes(app, control)
    orgRoutes(app, control)
    getOperatedOrgs(app, control)
    getHosts(app, control)
    hostTokenRoutes(app, control)
    removeHost(app, control)
    hostEnrolmentRoutes(app, control)
    edgeHostRoutes(app, control)
    getHostDisk(app, control)
    hostQuarantineRoutes(app, control)
    hostCordonRoutes(app, control)
    patchHost(app, control)
    hostReconcileRoutes(app, control)
    getAdminMetrics(app, control)
    keyRoutes(app, control)
    authorityRoutes(app, control)
    jobRoutes(app, control)
    operatorRoutes(app, control)
    operatorKeyRoutes(app, control)
    sshKeyRoutes(app, control)
    sshGatewayRoutes(app, control)
    edgeSshRoutes(app, control)
  },
  refreshes: (control) => [
    {
      what: 'OpenID Connect providers',
      everyMs: PROVIDERS_EVERY_MS,
      run: () => addOidcProviders(control.accounts, control.config.oidc_providers, control.log),
    },
    { what: 'states of hosts', everyMs: STATES_EVERY_MS, run: () => control.fleet.refreshHosts() },
    { what: 'keys', everyMs: KEYS_EVERY_MS, run: () => refreshKeys(control) },
    { what: 'joined hosts', everyMs: HOSTS_EVERY_MS, run: () => control.joinedHosts.refresh() },
  ],
  lanes: (control) => [
    lane('objects', [
      {
        name: 'keep-keys',
        recur: async ({ signal }) => ((await keepKeys(control, signal)) ? KEYS_EVERY_MS : null),
      },
      { name: 'keep-authority', recur: ({ requestId }) => keepAuthority(control, requestId) },
    ]),
  ],
  describedRoutes: accountOperations,
  sweeps: [removeOldInvitations, removeOldCodes, removeOldHostTokens, removeOldReports],
}
