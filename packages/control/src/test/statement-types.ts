// Written by statements.test.ts from what PostgreSQL says of every statement. Do not edit it.
import type { Agreement, Assert, Computed, Json } from './statement-checks.ts'
import type * as fleet_agent_statements from '../fleet/agent-statements.ts'
import type * as fleet_artifact_copy_statements from '../fleet/artifact-copy-statements.ts'
import type * as fleet_artifact_host_statements from '../fleet/artifact-host-statements.ts'
import type * as fleet_artifact_move_statements from '../fleet/artifact-move-statements.ts'
import type * as fleet_copy_statements from '../fleet/copy-statements.ts'
import type * as fleet_drain_statements from '../fleet/drain-statements.ts'
import type * as fleet_fleet_authority_statements from '../fleet/fleet-authority-statements.ts'
import type * as fleet_host_state_statements from '../fleet/host-state-statements.ts'
import type * as fleet_host_statements from '../fleet/host-statements.ts'
import type * as fleet_lease_statements from '../fleet/lease-statements.ts'
import type * as fleet_move_statements from '../fleet/move-statements.ts'
import type * as fleet_reconcile_statements from '../fleet/reconcile-statements.ts'
import type * as fleet_record_statements from '../fleet/record-statements.ts'
import type * as fleet_recovery_statements from '../fleet/recovery-statements.ts'
import type * as fleet_sandbox_lookups from '../fleet/sandbox-lookups.ts'
import type * as fleet_stream_statements from '../fleet/stream-statements.ts'
import type * as kinds_apps_certificates_certificate_statements from '../kinds/apps/certificates/certificate-statements.ts'
import type * as kinds_apps_certificates_order_statements from '../kinds/apps/certificates/order-statements.ts'
import type * as kinds_apps_certificates_own_certificate_statements from '../kinds/apps/certificates/own-certificate-statements.ts'
import type * as kinds_apps_dependency_cache_tree_statements from '../kinds/apps/dependency-cache/tree-statements.ts'
import type * as kinds_apps_deploying_replacement_statements from '../kinds/apps/deploying/replacement-statements.ts'
import type * as kinds_apps_deploying_unnamed_statements from '../kinds/apps/deploying/unnamed-statements.ts'
import type * as kinds_apps_deployments_build_log_statements from '../kinds/apps/deployments/build-log-statements.ts'
import type * as kinds_apps_domains_app_domain_statements from '../kinds/apps/domains/app-domain-statements.ts'
import type * as kinds_apps_edge_app_statements from '../kinds/apps/edge-app-statements.ts'
import type * as kinds_apps_git_provider_git_provider_statements from '../kinds/apps/git-provider/git-provider-statements.ts'
import type * as kinds_apps_model_app_statements from '../kinds/apps/model/app-statements.ts'
import type * as kinds_apps_model_deployment_statements from '../kinds/apps/model/deployment-statements.ts'
import type * as kinds_apps_model_instance_statements from '../kinds/apps/model/instance-statements.ts'
import type * as kinds_apps_preview_access_access_statements from '../kinds/apps/preview-access/access-statements.ts'
import type * as kinds_apps_previews_preview_statements from '../kinds/apps/previews/preview-statements.ts'
import type * as kinds_apps_visibility_statements from '../kinds/apps/visibility-statements.ts'
import type * as kinds_billing_credit_pause_statements from '../kinds/billing/credit-pause-statements.ts'
import type * as kinds_billing_grant_credit from '../kinds/billing/grant-credit.ts'
import type * as kinds_billing_limits_quota_statements from '../kinds/billing/limits/quota-statements.ts'
import type * as kinds_billing_metering_meter_statements from '../kinds/billing/metering/meter-statements.ts'
import type * as kinds_billing_metering_storage_statements from '../kinds/billing/metering/storage-statements.ts'
import type * as kinds_billing_model_credit_statements from '../kinds/billing/model/credit-statements.ts'
import type * as kinds_billing_report_overage from '../kinds/billing/report-overage.ts'
import type * as kinds_databases_backup_statements from '../kinds/databases/backup-statements.ts'
import type * as kinds_databases_database_statements from '../kinds/databases/database-statements.ts'
import type * as kinds_databases_recovery_statements from '../kinds/databases/recovery-statements.ts'
import type * as kinds_databases_stored_archives_stored_archive_statements from '../kinds/databases/stored-archives/stored-archive-statements.ts'
import type * as kinds_databases_verification_statements from '../kinds/databases/verification-statements.ts'
import type * as kinds_orgs_identity_account_deletion_statements from '../kinds/orgs/identity/account-deletion-statements.ts'
import type * as kinds_orgs_identity_account_keys from '../kinds/orgs/identity/account-keys.ts'
import type * as kinds_orgs_identity_account_statements from '../kinds/orgs/identity/account-statements.ts'
import type * as kinds_orgs_identity_api_key_statements from '../kinds/orgs/identity/api-key-statements.ts'
import type * as kinds_orgs_identity_foreign_user_statements from '../kinds/orgs/identity/foreign-user-statements.ts'
import type * as kinds_orgs_identity_invitation_statements from '../kinds/orgs/identity/invitation-statements.ts'
import type * as kinds_orgs_identity_membership_statements from '../kinds/orgs/identity/membership-statements.ts'
import type * as kinds_orgs_identity_operator_statements from '../kinds/orgs/identity/operator-statements.ts'
import type * as kinds_orgs_identity_org_statements from '../kinds/orgs/identity/org-statements.ts'
import type * as kinds_orgs_identity_sign_in_link_statements from '../kinds/orgs/identity/sign-in-link-statements.ts'
import type * as kinds_orgs_identity_ssh_service_key_statements from '../kinds/orgs/identity/ssh-service-key-statements.ts'
import type * as kinds_orgs_identity_used_code_statements from '../kinds/orgs/identity/used-code-statements.ts'
import type * as kinds_orgs_operators_get_hosts from '../kinds/orgs/operators/get-hosts.ts'
import type * as kinds_orgs_operators_operator_queries from '../kinds/orgs/operators/operator-queries.ts'
import type * as kinds_orgs_ssh_ssh_key_statements from '../kinds/orgs/ssh/ssh-key-statements.ts'
import type * as kinds_sandboxes_deleted_orgs_statements from '../kinds/sandboxes/deleted-orgs-statements.ts'
import type * as kinds_sandboxes_events_event_statements from '../kinds/sandboxes/events/event-statements.ts'
import type * as kinds_sandboxes_forks_fork_statements from '../kinds/sandboxes/forks/fork-statements.ts'
import type * as kinds_sandboxes_lifecycle_lifecycle_statements from '../kinds/sandboxes/lifecycle/lifecycle-statements.ts'
import type * as kinds_sandboxes_lifecycle_timeout_statements from '../kinds/sandboxes/lifecycle/timeout-statements.ts'
import type * as kinds_sandboxes_lineage_lineage_statements from '../kinds/sandboxes/lineage/lineage-statements.ts'
import type * as kinds_sandboxes_links_link_statements from '../kinds/sandboxes/links/link-statements.ts'
import type * as kinds_sandboxes_model_sandbox_statements from '../kinds/sandboxes/model/sandbox-statements.ts'
import type * as kinds_sandboxes_ports_port_statements from '../kinds/sandboxes/ports/port-statements.ts'
import type * as kinds_sandboxes_snapshots_snapshot_statements from '../kinds/sandboxes/snapshots/snapshot-statements.ts'
import type * as kinds_templates_build_statements from '../kinds/templates/build-statements.ts'
import type * as kinds_templates_template_statements from '../kinds/templates/template-statements.ts'
import type * as kinds_volumes_volume_statements from '../kinds/volumes/volume-statements.ts'
import type * as kinds_webhooks_delivery_delivery_statements from '../kinds/webhooks/delivery/delivery-statements.ts'
import type * as kinds_webhooks_model_webhook_statements from '../kinds/webhooks/model/webhook-statements.ts'
import type * as platform_audit_audit_statements from '../platform/audit/audit-statements.ts'
import type * as platform_db_lease from '../platform/db/lease.ts'
import type * as platform_idempotency_idempotency_statements from '../platform/idempotency/idempotency-statements.ts'
import type * as platform_jobs_job_statements from '../platform/jobs/job-statements.ts'
import type * as platform_jobs_operated_jobs from '../platform/jobs/operated-jobs.ts'
import type * as platform_limits_postgres_buckets from '../platform/limits/postgres-buckets.ts'
import type * as platform_limits_redis_buckets from '../platform/limits/redis-buckets.ts'
import type * as platform_mail_mail_statements from '../platform/mail/mail-statements.ts'
import type * as platform_secrets_keyring_statements from '../platform/secrets/keyring-statements.ts'

export type Of_fleet_agent_statements = [
  Assert<Agreement<typeof fleet_agent_statements.upsertAgent, { "is_cordoned": Computed<boolean>; "labels": Json; "zone": string | null }, [string, string, string, boolean]>>,
  Assert<Agreement<typeof fleet_agent_statements.agentCursor, { "cursor": number }, [string]>>,
  Assert<Agreement<typeof fleet_agent_statements.agentCursors, { "id": string; "cursor": number }, []>>,
  Assert<Agreement<typeof fleet_agent_statements.lockAgentCursor, { "cursor": number }, [string]>>,
  Assert<Agreement<typeof fleet_agent_statements.lockCursorsForRecords, { "id": string; "cursor": number; "tells_later": Computed<string> }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_agent_statements.tellChangedSandboxes, { "told": Computed<boolean> }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_agent_statements.tellEverything, { "told": Computed<boolean> }, []>>,
  Assert<Agreement<typeof fleet_agent_statements.setAgentCursors, {  }, [readonly string[], readonly number[]]>>,
  Assert<Agreement<typeof fleet_agent_statements.forgetSequence, {  }, [string]>>,
  Assert<Agreement<typeof fleet_agent_statements.retireOthers, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_agent_statements.retireAgent, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_agent_statements.failSandboxesOf, { "id": string }, [readonly string[], number]>>,
  Assert<Agreement<typeof fleet_agent_statements.retiredAgent, { "id": string }, [string]>>,
]

export type Of_fleet_artifact_copy_statements = [
  Assert<Agreement<typeof fleet_artifact_copy_statements.artifactCopyById, { "id": string; "workspace_id": string; "state": string; "artifact_id": string; "kind": string; "origin": string }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.beginArtifactCopies, { "id": string }, [number, number, readonly string[], number]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.noteArtifactCopying, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.noteArtifactStored, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.endArtifactCopy, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.unfinishedArtifactCopies, { "id": string }, [number]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.streamsOfArtifact, { "id": string; "workspace_id": string; "chunks": number; "bake": string | null }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.removeOldArtifactCopies, {  }, []>>,
  Assert<Agreement<typeof fleet_artifact_copy_statements.countArtifactCopies, { "status": Computed<string>; "count": Computed<number> }, [string]>>,
]

export type Of_fleet_artifact_host_statements = [
  Assert<Agreement<typeof fleet_artifact_host_statements.hostsOfArtifact, { "agent_id": Computed<string>; "state": Computed<string> }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.hostOfArtifact, { "state": Computed<string> }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.beginArtifactHost, { "is_home": Computed<boolean> }, [string, string, number]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.setArtifactHostReady, { "artifact_id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.removeArtifactHost, { "artifact_id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.abandonArtifactHost, { "artifact_id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.copiesOnHost, { "id": string; "kind": string; "workspace_id": string }, [string, number]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.placesOfArtifact, { "home": string; "accelerator": Computed<string>; "qemu_version": Computed<string>; "is_missing": boolean; "hosts": Computed<readonly string[]>; "is_stored": Computed<boolean>; "leaving": Computed<readonly string[]>; "is_bound": boolean }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.leaveArtifacts, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.leaveMissingArtifact, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.changeHome, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.settleHome, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.noteMissing, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.noteFound, {  }, [string, string]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.snapshotRowsOfAgent, { "id": Computed<string>; "workspace_id": Computed<string>; "is_ready": Computed<boolean>; "is_copy": Computed<boolean>; "is_missing": Computed<boolean>; "is_abandoned": Computed<boolean> }, [string, number, number]>>,
  Assert<Agreement<typeof fleet_artifact_host_statements.templateRowsOfAgent, { "id": Computed<string>; "workspace_id": Computed<string>; "is_ready": Computed<boolean>; "is_copy": Computed<boolean>; "is_missing": Computed<boolean>; "is_abandoned": Computed<boolean> }, [string, number]>>,
]

export type Of_fleet_artifact_move_statements = [
  Assert<Agreement<typeof fleet_artifact_move_statements.drainableArtifacts, { "id": string; "workspace_id": string; "is_bound": boolean; "hosts": Computed<readonly string[]>; "tried": Computed<readonly string[]> }, [string, number]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.beginArtifactMove, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.recordUnplacedArtifact, {  }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.openArtifactMove, { "id": string; "artifact_id": string; "workspace_id": string; "from_agent": string; "to_agent": string; "home": string | null; "kind": string | null; "origin": string | null; "name": string | null }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.finishArtifactMove, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.failArtifactMove, { "id": string }, [string, string, boolean]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.unfinishedArtifactMoves, { "id": string }, [number]>>,
  Assert<Agreement<typeof fleet_artifact_move_statements.removeOldArtifactMoves, {  }, []>>,
]

export type Of_fleet_copy_statements = [
  Assert<Agreement<typeof fleet_copy_statements.copyById, { "id": string; "sandbox_id": string; "workspace_id": string; "agent_id": string; "state": string; "is_settled": boolean; "bake": string | null; "source_seq": number | null; "owner": string | null }, [string]>>,
  Assert<Agreement<typeof fleet_copy_statements.copyHolding, { "id": string; "sandbox_id": string; "workspace_id": string; "agent_id": string; "state": string; "is_settled": boolean; "bake": string | null; "source_seq": number | null; "owner": string | null }, [string]>>,
  Assert<Agreement<typeof fleet_copy_statements.databaseIncarnation, { "is": Computed<string> }, []>>,
  Assert<Agreement<typeof fleet_copy_statements.noteProven, {  }, [string, readonly string[], string]>>,
  Assert<Agreement<typeof fleet_copy_statements.beginCopies, { "id": string }, [number, readonly string[], number]>>,
  Assert<Agreement<typeof fleet_copy_statements.noteCopying, { "id": string }, [string, string, number]>>,
  Assert<Agreement<typeof fleet_copy_statements.noteStored, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_copy_statements.endCopy, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_copy_statements.takeCopy, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_copy_statements.noteSettled, {  }, [string]>>,
  Assert<Agreement<typeof fleet_copy_statements.noteSourceLost, {  }, [string, readonly string[]]>>,
  Assert<Agreement<typeof fleet_copy_statements.endStaleCopies, { "id": string }, [string, readonly string[]]>>,
  Assert<Agreement<typeof fleet_copy_statements.unsettledCopies, { "id": string }, [number, readonly string[], boolean]>>,
  Assert<Agreement<typeof fleet_copy_statements.removeOldCopies, {  }, []>>,
  Assert<Agreement<typeof fleet_copy_statements.countCopies, { "status": Computed<string>; "count": Computed<number> }, []>>,
]

export type Of_fleet_drain_statements = [
  Assert<Agreement<typeof fleet_drain_statements.beginDrain, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_drain_statements.cancelDrain, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_drain_statements.drainingHosts, { "id": string; "begun_at": Date; "open": Computed<number>; "open_artifacts": Computed<number>; "creating": Computed<number>; "of_apps": Computed<number> }, []>>,
  Assert<Agreement<typeof fleet_drain_statements.drainableSandboxes, { "id": string; "workspace_id": string; "template": string; "tried": Computed<readonly string[]> }, [string, number]>>,
  Assert<Agreement<typeof fleet_drain_statements.endDrain, { "id": string }, [string, string | Date]>>,
  Assert<Agreement<typeof fleet_drain_statements.drainProgress, { "moving": Computed<number>; "waiting": Computed<number>; "moved": Computed<number>; "failed": Computed<number> }, [string]>>,
  Assert<Agreement<typeof fleet_drain_statements.stayingObjects, { "kind": Computed<string>; "id": Computed<string>; "workspace_id": Computed<string>; "reason": Computed<string>; "total": Computed<number> }, [string, number]>>,
]

export type Of_fleet_fleet_authority_statements = [
  Assert<Agreement<typeof fleet_fleet_authority_statements.fleetAuthority, { "version": number; "certificate": string; "key": Buffer; "other_certificate": string | null; "is_other_new": Computed<boolean> }, []>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.fleetAuthorityVersion, { "version": number }, []>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.insertFleetAuthority, {  }, [string, Uint8Array]>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.introduceAuthority, { "version": number }, [string, Uint8Array]>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.advanceAuthority, { "version": number }, [number]>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.reportVersion, {  }, [string, string, number, number]>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.removeOldReports, {  }, []>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.hostsToLookAt, { "id": string }, [number]>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.noteShownVersion, {  }, [string, number]>>,
  Assert<Agreement<typeof fleet_fleet_authority_statements.waitedFor, { "kind": Computed<string>; "id": Computed<string>; "is_lost": Computed<boolean>; "total": Computed<number> }, [number, number]>>,
]

export type Of_fleet_host_state_statements = [
  Assert<Agreement<typeof fleet_host_state_statements.noteHeard, { "id": string; "is_cordoned": Computed<boolean>; "is_lost": Computed<boolean>; "is_new": Computed<boolean>; "labels": Json; "zone": string | null }, [readonly string[], number, boolean]>>,
  Assert<Agreement<typeof fleet_host_state_statements.cordonAgent, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_host_state_statements.uncordonAgent, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_host_state_statements.describeAgent, { "labels": Json; "zone": string | null }, [string, string, boolean, string]>>,
  Assert<Agreement<typeof fleet_host_state_statements.placementRules, { "workspace_id": string; "required_labels": Json; "required_zone": string | null }, []>>,
]

export type Of_fleet_host_statements = [
  Assert<Agreement<typeof fleet_host_statements.insertHostToken, { "expires_at": Date }, [Uint8Array, number, string]>>,
  Assert<Agreement<typeof fleet_host_statements.useHostToken, { "host_id": string; "is_new": Computed<boolean>; "for_host": string | null }, [Uint8Array, Uint8Array]>>,
  Assert<Agreement<typeof fleet_host_statements.removeOldHostTokens, {  }, []>>,
  Assert<Agreement<typeof fleet_host_statements.insertJoinedHost, {  }, [string, string, Uint8Array, Uint8Array, string, string]>>,
  Assert<Agreement<typeof fleet_host_statements.joinedHost, { "id": string; "url": string; "secret": Buffer; "edge_secret": Buffer }, [string]>>,
  Assert<Agreement<typeof fleet_host_statements.lockJoinedHost, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_host_statements.describeJoiningHost, { "labels": Json; "zone": string | null }, [string, string, boolean, string]>>,
  Assert<Agreement<typeof fleet_host_statements.joinedHosts, { "id": string; "url": string; "secret": Buffer; "edge_secret": Buffer }, []>>,
  Assert<Agreement<typeof fleet_host_statements.objectsOfHost, { "sandboxes": Computed<number>; "volumes": Computed<number>; "snapshots": Computed<number>; "templates": Computed<number> }, [string]>>,
  Assert<Agreement<typeof fleet_host_statements.removeJoinedHost, { "url": string }, [string]>>,
]

export type Of_fleet_lease_statements = [
  Assert<Agreement<typeof fleet_lease_statements.renewLease, { "generation": number; "renewals": number }, [string, number, number]>>,
  Assert<Agreement<typeof fleet_lease_statements.silentLeases, { "agent_id": string; "renewals": number; "seconds": number; "incarnation": Computed<string> }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_lease_statements.endLease, { "agent_id": string }, [string, number, string]>>,
  Assert<Agreement<typeof fleet_lease_statements.lockEndedLease, { "agent_id": string }, [string]>>,
  Assert<Agreement<typeof fleet_lease_statements.reopenLease, { "generation": number; "renewals": number }, [string, number, readonly string[]]>>,
  Assert<Agreement<typeof fleet_lease_statements.dropLease, {  }, [string]>>,
  Assert<Agreement<typeof fleet_lease_statements.leaseOf, { "agent_id": string }, [string]>>,
  Assert<Agreement<typeof fleet_lease_statements.holdEndedLease, { "agent_id": string }, [string]>>,
  Assert<Agreement<typeof fleet_lease_statements.countLeases, { "held": Computed<number>; "ended": Computed<number>; "oldest_seconds": Computed<number> }, []>>,
]

export type Of_fleet_move_statements = [
  Assert<Agreement<typeof fleet_move_statements.moveById, { "id": string; "sandbox_id": string; "workspace_id": string; "from_agent": string; "to_agent": string | null; "state": string; "was_running": boolean; "bake": string | null; "source_seq": number | null; "left_behind": string | null; "finished_at": Date | null; "committed_ms": Computed<number>; "owner": string | null; "copy_id": string | null; "backup_id": string | null; "has_archive": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof fleet_move_statements.beginMove, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_move_statements.recordUnplaced, {  }, [string, string, string]>>,
  Assert<Agreement<typeof fleet_move_statements.noteLeft, { "id": string }, [string, string, number, number]>>,
  Assert<Agreement<typeof fleet_move_statements.giveUpMove, { "id": string }, [string, string, boolean]>>,
  Assert<Agreement<typeof fleet_move_statements.giveUpMovesFrom, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_move_statements.isCopying, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_move_statements.commitMove, { "id": string }, [string, number]>>,
  Assert<Agreement<typeof fleet_move_statements.changeOwner, { "id": string }, [string, string, string, number]>>,
  Assert<Agreement<typeof fleet_move_statements.finishMove, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_move_statements.finishFailedMove, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_move_statements.noteCleaned, {  }, [string]>>,
  Assert<Agreement<typeof fleet_move_statements.unsettledMoves, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof fleet_move_statements.movingAmong, { "id": Computed<string> }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_move_statements.endedMoves, { "id": Computed<string>; "is_elsewhere": Computed<boolean> }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_move_statements.knownMoves, { "id": Computed<string> }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_move_statements.removeOldMoves, {  }, []>>,
  Assert<Agreement<typeof fleet_move_statements.countMoves, { "status": string; "count": Computed<number> }, []>>,
]

export type Of_fleet_reconcile_statements = [
  Assert<Agreement<typeof fleet_reconcile_statements.rowsOfAgent, { "id": string; "status": string; "last_event_seq": number; "is_abandoned": Computed<boolean>; "is_moving": Computed<boolean>; "is_held": Computed<boolean> }, [string, number]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.failOrphan, { "id": string }, [string, string, number]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.removeAbandoned, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.adoptStatus, { "id": string }, [string, string, number, string, number]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.recordedRemovals, { "id": string }, [string, readonly string[]]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.forgetOldRemovals, {  }, []>>,
  Assert<Agreement<typeof fleet_reconcile_statements.keepWaiting, {  }, [string, string]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.waitingObjects, { "action": string; "kind": string; "id": string; "workspace_id": string; "since": Date; "total": Computed<number> }, [string, number]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.waitingByAgent, { "agent_id": string; "count": Computed<number> }, []>>,
  Assert<Agreement<typeof fleet_reconcile_statements.confirmedObjects, { "action": string; "kind": string; "id": string; "workspace_id": string }, [string]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.confirmWaiting, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_reconcile_statements.ownCluster, { "id": string }, []>>,
]

export type Of_fleet_record_statements = [
  Assert<Agreement<typeof fleet_record_statements.applyStatuses, {  }, [string]>>,
  Assert<Agreement<typeof fleet_record_statements.applyStatus, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string, number, string, number, string, string]>>,
  Assert<Agreement<typeof fleet_record_statements.ownersOfSandboxes, { "id": string; "agent_id": string; "workspace_id": string }, [readonly string[]]>>,
  Assert<Agreement<typeof fleet_record_statements.applyPromoted, {  }, [readonly string[], readonly string[]]>>,
]

export type Of_fleet_recovery_statements = [
  Assert<Agreement<typeof fleet_recovery_statements.recoverableCopies, { "id": string; "workspace_id": string; "agent_id": string; "accelerator": Computed<string>; "qemu_version": Computed<string>; "tried": Computed<readonly string[]> }, [number]>>,
  Assert<Agreement<typeof fleet_recovery_statements.endWaitingMoves, {  }, [string]>>,
  Assert<Agreement<typeof fleet_recovery_statements.beginRecovery, { "id": string }, [string, string]>>,
]

export type Of_fleet_sandbox_lookups = [
  Assert<Agreement<typeof fleet_sandbox_lookups.sandboxOfWorkspace, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof fleet_sandbox_lookups.locationOfSandbox, { "id": string; "workspace_id": string; "agent_id": string; "status": string; "managed_by": string | null; "is_held": Computed<boolean> }, [string, string]>>,
  Assert<Agreement<typeof fleet_sandbox_lookups.sandboxesOfWorkspaces, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [readonly string[], readonly string[]]>>,
]

export type Of_fleet_stream_statements = [
  Assert<Agreement<typeof fleet_stream_statements.insertStream, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_stream_statements.noteChunk, { "id": string }, [string, number, number]>>,
  Assert<Agreement<typeof fleet_stream_statements.noteBakeStored, { "id": string }, [string]>>,
  Assert<Agreement<typeof fleet_stream_statements.storedBake, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof fleet_stream_statements.streamsOfCopy, { "id": string; "workspace_id": string; "chunks": number; "is_bake": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof fleet_stream_statements.dropUnneededBakes, { "id": string }, []>>,
  Assert<Agreement<typeof fleet_stream_statements.droppedStreams, { "id": string }, [number]>>,
  Assert<Agreement<typeof fleet_stream_statements.droppedStream, { "id": string; "workspace_id": string; "chunks": number }, [string]>>,
  Assert<Agreement<typeof fleet_stream_statements.removeStream, {  }, [string]>>,
]

export type Of_kinds_apps_certificates_certificate_statements = [
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.certificatesOfApp, { "domain": string; "source": string; "fingerprint": string | null; "ends_at": Date | null; "error": string | null; "due_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.certificateOf, { "domain": string; "source": string; "fingerprint": string | null; "ends_at": Date | null; "error": string | null; "due_at": Date | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.giveCertificate, {  }, [string, string, string, Uint8Array, string, string | Date]>>,
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.takeGivenCertificate, { "domain": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.orderSooner, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.servedCertificate, { "fingerprint": string; "chain": string; "key": Buffer }, [string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_certificate_statements.acmeAnswer, { "answer": string }, [string, string]>>,
]

export type Of_kinds_apps_certificates_order_statements = [
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.wantCertificates, {  }, [number]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.dueOrderIds, { "id": string }, [number]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.remindOrders, {  }, []>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.claimOrder, { "id": string; "domain": string; "workspace_id": string; "order_url": string | null; "order_key": Buffer | null }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.countOrder, { "workspace_id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.setOrderKey, { "id": string }, [string, number, Uint8Array]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.setOrder, { "id": string }, [string, number, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.setChallenge, { "id": string }, [string, number, string, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.setCertificate, { "id": string }, [string, number, string, Uint8Array, string, string | Date, string | Date]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.failOrder, {  }, [string, number, string, boolean]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.leaveOrder, {  }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.keepAccountKey, {  }, [string, Uint8Array]>>,
  Assert<Agreement<typeof kinds_apps_certificates_order_statements.accountKey, { "key": Buffer }, [string]>>,
]

export type Of_kinds_apps_certificates_own_certificate_statements = [
  Assert<Agreement<typeof kinds_apps_certificates_own_certificate_statements.wantOwnCertificate, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_own_certificate_statements.dueOwnOrderIds, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_own_certificate_statements.claimOwnOrder, { "id": string; "domain": string; "workspace_id": Computed<string>; "order_url": string | null; "order_key": Buffer | null }, [string, number, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_own_certificate_statements.newOwnCertificate, { "fingerprint": string; "chain": string; "key": Buffer }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_own_certificate_statements.ownAcmeAnswer, { "answer": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_certificates_own_certificate_statements.ownOrderFailures, { "failures": number }, [string]>>,
]

export type Of_kinds_apps_dependency_cache_tree_statements = [
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.treeOfApp, { "id": string; "workspace_id": string; "agent_id": string; "key": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.disownOtherTree, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.claimTree, { "id": string; "workspace_id": string; "agent_id": string; "key": string }, [string, string, string, string, string, number]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.disownTree, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.makingTrees, { "id": string; "workspace_id": string; "agent_id": string; "key": string; "is_abandoned": Computed<boolean> }, [number]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.setTreeReady, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.oldTreeIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.endOldTree, { "id": string; "workspace_id": string; "agent_id": string; "key": string }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.removeTreeRow, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_dependency_cache_tree_statements.countTrees, { "status": string; "count": Computed<number> }, []>>,
]

export type Of_kinds_apps_deploying_replacement_statements = [
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.replaceableVersions, { "id": string; "deployment_id": string; "cause": Computed<string> }, [number, boolean]>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.queueReplacement, { "id": string; "from_agent": string | null }, [string, string, string, string]>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.stillToReplace, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.dropReplacement, {  }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.noteUnplacedApps, { "id": string }, []>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.releaseDrainedVersions, { "id": string }, []>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.disownDrainedTrees, {  }, []>>,
  Assert<Agreement<typeof kinds_apps_deploying_replacement_statements.hasLiveVersions, { "found": Computed<boolean> }, []>>,
]

export type Of_kinds_apps_deploying_unnamed_statements = [
  Assert<Agreement<typeof kinds_apps_deploying_unnamed_statements.unnamedIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_apps_deploying_unnamed_statements.unnamedSandbox, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, readonly string[]]>>,
]

export type Of_kinds_apps_deployments_build_log_statements = [
  Assert<Agreement<typeof kinds_apps_deployments_build_log_statements.appendBuildLog, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_deployments_build_log_statements.buildLogAfter, { "number": Computed<string>; "text": string }, [string, string, number]>>,
]

export type Of_kinds_apps_domains_app_domain_statements = [
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.domainOfApp, { "domain": string; "token": string; "verified_at": Date | null; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.lockAppForDomains, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.insertDomain, { "domain": string; "token": string; "verified_at": Date | null; "created_at": Date }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.lockDomain, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.releaseDomain, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.markDomainVerified, { "domain": string; "token": string; "verified_at": Date | null; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_domains_app_domain_statements.removeDomain, { "domain": string }, [string, string]>>,
]

export type Of_kinds_apps_edge_app_statements = [
  Assert<Agreement<typeof kinds_apps_edge_app_statements.edgeApps, { "id": string; "host": string | null; "domains": Computed<readonly string[]>; "certificates": Computed<Json>; "port": Computed<number>; "state": Computed<string>; "is_changing": Computed<boolean>; "as_of": Computed<number>; "sandbox_ids": Computed<readonly string[]>; "max_instances": number; "is_sticky": Computed<boolean>; "visibility": string }, [readonly string[]]>>,
]

export type Of_kinds_apps_git_provider_git_provider_statements = [
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.insertConnect, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.takeConnect, { "workspace_id": string; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.bindInstallation, { "installation_id": number }, [number, string, string, string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.installationOfWorkspace, { "installation_id": number; "workspace_id": string; "account_login": string; "account_type": string; "created_at": Date }, [number, string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.installationOfAccount, { "installation_id": number; "workspace_id": string; "account_login": string; "account_type": string; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.removeInstallation, { "installation_id": number }, [number, string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.forgetInstallation, {  }, [number]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.insertDelivery, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.appsOfPush, { "id": string; "port": number; "git_url": string; "root_directory": string | null }, [number, string]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.appsWithPreviews, { "id": string; "git_url": string }, [number]>>,
  Assert<Agreement<typeof kinds_apps_git_provider_git_provider_statements.removeOldGitRows, {  }, []>>,
]

export type Of_kinds_apps_model_app_statements = [
  Assert<Agreement<typeof kinds_apps_model_app_statements.insertApp, { "id": string; "workspace_id": string; "name": string; "host": string | null; "git_url": string; "git_branch": string; "framework": string | null; "runtime": string | null; "install_command": string | null; "build_command": string | null; "start_command": string | null; "root_directory": string | null; "env": Buffer; "port": number; "max_instances": number; "auto_deploy": boolean; "preview_deploys": boolean; "parent_id": string | null; "pull_number": number | null; "idle_timeout_seconds": number; "visibility": string; "active_deployment_id": string | null; "created_at": Date; "updated_at": Date; "status": Computed<string> }, [string, string, string, string, string, string, string, string, string, string, string, string, Uint8Array, number, number, boolean, number, boolean, string]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.appOfWorkspace, { "id": string; "workspace_id": string; "name": string; "host": string | null; "git_url": string; "git_branch": string; "framework": string | null; "runtime": string | null; "install_command": string | null; "build_command": string | null; "start_command": string | null; "root_directory": string | null; "env": Buffer; "port": number; "max_instances": number; "auto_deploy": boolean; "preview_deploys": boolean; "parent_id": string | null; "pull_number": number | null; "idle_timeout_seconds": number; "visibility": string; "active_deployment_id": string | null; "created_at": Date; "updated_at": Date; "status": Computed<string> }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.appById, { "id": string; "workspace_id": string; "name": string; "host": string | null; "git_url": string; "git_branch": string; "framework": string | null; "runtime": string | null; "install_command": string | null; "build_command": string | null; "start_command": string | null; "root_directory": string | null; "env": Buffer; "port": number; "max_instances": number; "auto_deploy": boolean; "preview_deploys": boolean; "parent_id": string | null; "pull_number": number | null; "idle_timeout_seconds": number; "visibility": string; "active_deployment_id": string | null; "created_at": Date; "updated_at": Date; "status": Computed<string> }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.updateApp, { "id": string; "workspace_id": string; "name": string; "host": string | null; "git_url": string; "git_branch": string; "framework": string | null; "runtime": string | null; "install_command": string | null; "build_command": string | null; "start_command": string | null; "root_directory": string | null; "env": Buffer; "port": number; "max_instances": number; "auto_deploy": boolean; "preview_deploys": boolean; "parent_id": string | null; "pull_number": number | null; "idle_timeout_seconds": number; "visibility": string; "active_deployment_id": string | null; "created_at": Date; "updated_at": Date; "status": Computed<string> }, [string, string, string, string, string, string, string, string, Uint8Array, number, number, boolean, number, boolean, string]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.markAppDeleted, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.deletedAppIds, { "id": string }, [number]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.deletedApp, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_app_statements.removeAppRow, { "id": string }, [string]>>,
]

export type Of_kinds_apps_model_deployment_statements = [
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.lockApp, { "id": string; "active_deployment_id": string | null }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.supersedeQueued, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.insertDeployment, { "id": string; "app_id": string; "status": string; "git_ref": string; "git_commit": string | null; "origin_id": string; "sandbox_id": string | null; "port": number; "error": string | null; "attempts": number; "cause": string | null; "from_agent": string | null; "created_at": Date; "started_at": Date | null; "finished_at": Date | null }, [string, string, string, string, string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.deploymentOfApp, { "id": string; "app_id": string; "status": string; "git_ref": string; "git_commit": string | null; "origin_id": string; "sandbox_id": string | null; "port": number; "error": string | null; "attempts": number; "cause": string | null; "from_agent": string | null; "created_at": Date; "started_at": Date | null; "finished_at": Date | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.previousDeployment, { "id": string; "app_id": string; "status": string; "git_ref": string; "git_commit": string | null; "origin_id": string; "sandbox_id": string | null; "port": number; "error": string | null; "attempts": number; "cause": string | null; "from_agent": string | null; "created_at": Date; "started_at": Date | null; "finished_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.claimDeployments, { "id": string; "app_id": string; "status": string; "git_ref": string; "git_commit": string | null; "origin_id": string; "sandbox_id": string | null; "port": number; "error": string | null; "attempts": number; "cause": string | null; "from_agent": string | null; "created_at": Date; "started_at": Date | null; "finished_at": Date | null }, [number, number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.hasOpenDeployments, { "found": Computed<boolean> }, []>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.stillWanted, { "id": string }, [readonly string[], number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.nameSandbox, { "id": string }, [string, number, string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.takeSandbox, { "sandbox_id": string; "port": number }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.setCommit, { "id": string }, [string, number, string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.setSticky, { "id": string }, [string, number, boolean]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.setDeploying, { "id": string }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.failDeployment, { "id": string }, [string, number, string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.setLive, { "app_id": string; "agent_id": Computed<string> }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.supersedeActive, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.activate, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.cancelDeployment, { "id": string; "app_id": string; "status": string; "git_ref": string; "git_commit": string | null; "origin_id": string; "sandbox_id": string | null; "port": number; "error": string | null; "attempts": number; "cause": string | null; "from_agent": string | null; "created_at": Date; "started_at": Date | null; "finished_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.draining, { "id": string; "app_id": string; "status": string; "git_ref": string; "git_commit": string | null; "origin_id": string; "sandbox_id": string | null; "port": number; "error": string | null; "attempts": number; "cause": string | null; "from_agent": string | null; "created_at": Date; "started_at": Date | null; "finished_at": Date | null; "is_over": Computed<boolean>; "is_replaced": Computed<boolean> }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.setDrained, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_deployment_statements.letOldVersionsGo, {  }, []>>,
]

export type Of_kinds_apps_model_instance_statements = [
  Assert<Agreement<typeof kinds_apps_model_instance_statements.noteNeeded, {  }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.claimInstance, { "id": string; "app_id": string; "deployment_id": string }, [string, string, number, number]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.setServing, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.forgetInstance, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.drainInstance, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.drainOthers, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.drainSpare, {  }, []>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.forgetLost, {  }, []>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.drainingInstances, { "id": string; "app_id": string; "deployment_id": string; "is_over": Computed<boolean> }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.servingInstances, { "id": string; "app_id": string; "deployment_id": string; "port": number }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.servingSandboxes, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.versionSandboxes, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date; "version_at": Date; "was_live": boolean; "is_active": Computed<boolean>; "version": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_apps_model_instance_statements.hasInstances, { "found": Computed<boolean> }, []>>,
]

export type Of_kinds_apps_preview_access_access_statements = [
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.ownerOfPreviewSandbox, { "workspace_id": string; "managed_by": string | null }, [string]>>,
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.ownerOfPreviewApp, { "workspace_id": string }, [string]>>,
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.appOfAddress, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.memberInSession, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.insertCode, { "user_id": string }, [Uint8Array, string, string, string, string, number]>>,
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.takeCode, { "user_id": string; "session_id": string; "is_valid": Computed<boolean> }, [Uint8Array, string, string]>>,
  Assert<Agreement<typeof kinds_apps_preview_access_access_statements.removeOldCodes, {  }, []>>,
]

export type Of_kinds_apps_previews_preview_statements = [
  Assert<Agreement<typeof kinds_apps_previews_preview_statements.notePull, { "number": number }, [string, number, string | Date]>>,
  Assert<Agreement<typeof kinds_apps_previews_preview_statements.upsertPreview, { "id": string; "port": number }, [string, string, number, string]>>,
  Assert<Agreement<typeof kinds_apps_previews_preview_statements.setPreviewsVisibility, {  }, [string]>>,
  Assert<Agreement<typeof kinds_apps_previews_preview_statements.markPreviewsDeleted, { "id": string }, [string, number]>>,
  Assert<Agreement<typeof kinds_apps_previews_preview_statements.removeOldPulls, {  }, []>>,
]

export type Of_kinds_apps_visibility_statements = [
  Assert<Agreement<typeof kinds_apps_visibility_statements.unlikeTheirApp, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date; "wanted": string }, [string]>>,
]

export type Of_kinds_billing_credit_pause_statements = [
  Assert<Agreement<typeof kinds_billing_credit_pause_statements.unpaidIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_billing_credit_pause_statements.markUnpaid, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_billing_credit_pause_statements.liftedIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_billing_credit_pause_statements.liftedSandbox, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_billing_credit_pause_statements.settleLifted, {  }, [string]>>,
]

export type Of_kinds_billing_grant_credit = [
  Assert<Agreement<typeof kinds_billing_grant_credit.insertGrant, { "id": string }, [string, number, string]>>,
]

export type Of_kinds_billing_limits_quota_statements = [
  Assert<Agreement<typeof kinds_billing_limits_quota_statements.holdingsOf, { "active": Computed<number>; "cpu": Computed<number>; "memory_mib": Computed<number>; "created_last_hour": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_billing_limits_quota_statements.objectsOf, { "volumes": Computed<number>; "volume_mib": Computed<number>; "webhooks": Computed<number>; "members": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_billing_limits_quota_statements.noteCreates, {  }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_billing_limits_quota_statements.pruneCreates, {  }, []>>,
  Assert<Agreement<typeof kinds_billing_limits_quota_statements.unsettleWorkspace, {  }, [string]>>,
]

export type Of_kinds_billing_metering_meter_statements = [
  Assert<Agreement<typeof kinds_billing_metering_meter_statements.openMeters, {  }, [string]>>,
  Assert<Agreement<typeof kinds_billing_metering_meter_statements.lockMeters, { "id": string }, [readonly string[]]>>,
  Assert<Agreement<typeof kinds_billing_metering_meter_statements.addTransitions, { "meter_id": string; "at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_billing_metering_meter_statements.postCharges, {  }, [readonly string[], readonly Date[]]>>,
  Assert<Agreement<typeof kinds_billing_metering_meter_statements.strayMeters, { "id": string; "state": Computed<string> }, [number, number]>>,
]

export type Of_kinds_billing_metering_storage_statements = [
  Assert<Agreement<typeof kinds_billing_metering_storage_statements.strayStorage, { "workspace_id": Computed<string>; "excess_mib": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_billing_metering_storage_statements.resizeStorage, {  }, [string, number]>>,
]

export type Of_kinds_billing_model_credit_statements = [
  Assert<Agreement<typeof kinds_billing_model_credit_statements.monthOf, { "used_micro_usd": Computed<number>; "cpu_seconds": Computed<number>; "granted_micro_usd": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_billing_model_credit_statements.grantedIn, { "micro_usd": Computed<number> }, [string, string | Date, string | Date]>>,
  Assert<Agreement<typeof kinds_billing_model_credit_statements.assessCredit, { "workspace_id": string; "used_micro_usd": Computed<number>; "credit_micro_usd": Computed<number>; "is_exhausted": Computed<boolean>; "until": Computed<Date> }, [string, number]>>,
  Assert<Agreement<typeof kinds_billing_model_credit_statements.noteNotice, { "month": Computed<string> }, [string, number]>>,
  Assert<Agreement<typeof kinds_billing_model_credit_statements.ownersOf, { "email": string; "workspace_name": string }, [string]>>,
]

export type Of_kinds_billing_report_overage = [
  Assert<Agreement<typeof kinds_billing_report_overage.subscribers, { "workspace_id": string; "last_day": Computed<string> }, []>>,
  Assert<Agreement<typeof kinds_billing_report_overage.recordDay, {  }, [string, string | Date, number]>>,
  Assert<Agreement<typeof kinds_billing_report_overage.unreportedDays, { "workspace_id": string; "customer_id": string; "day": Computed<string>; "mib_hours": number }, [string | Date]>>,
  Assert<Agreement<typeof kinds_billing_report_overage.markReported, {  }, [string, string | Date]>>,
]

export type Of_kinds_databases_backup_statements = [
  Assert<Agreement<typeof kinds_databases_backup_statements.insertBackup, { "taken_at": Date; "verified": string; "verified_at": Date | null; "verify_error": string | null }, [string, string, string, Uint8Array]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.backupsOfDatabase, { "id": string; "agent_id": string; "workspace_id": string; "size_bytes": number; "created_at": Date; "database_id": string; "origin": string; "secrets": Buffer; "taken_at": Date; "verified": string; "verified_at": Date | null; "verify_error": string | null }, [string]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.backupOfDatabase, { "id": string; "agent_id": string; "workspace_id": string; "size_bytes": number; "created_at": Date; "database_id": string; "origin": string; "secrets": Buffer; "taken_at": Date; "verified": string; "verified_at": Date | null; "verify_error": string | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.backupBefore, { "id": string; "agent_id": string; "workspace_id": string; "size_bytes": number; "created_at": Date; "database_id": string; "origin": string; "secrets": Buffer; "taken_at": Date; "verified": string; "verified_at": Date | null; "verify_error": string | null }, [string, string | Date]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.oldestBackup, { "taken_at": Date; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.dueBackupIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.dueBackup, { "id": string; "workspace_id": string }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_databases_backup_statements.setBackupDue, {  }, [string, number]>>,
]

export type Of_kinds_databases_database_statements = [
  Assert<Agreement<typeof kinds_databases_database_statements.insertProvisioning, { "id": string }, [string, string, string, string, Uint8Array, Uint8Array, number, string, number]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.renewProvisioning, { "id": string }, [string, number]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.setDatabaseReady, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.databaseOfWorkspace, { "id": string; "workspace_id": string; "label": string | null; "size": string; "status": string; "secrets": Buffer; "broker_token_sha256": Buffer; "idle_timeout_seconds": number; "always_on": boolean; "disk_mb": number; "parent_id": string | null; "created_at": Date; "recovered_at": Date | null; "recovered_until": Date | null; "agent_id": string | null; "sandbox_status": string | null; "cpu": number | null; "memory_mb": number | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.databaseById, { "id": string; "workspace_id": string; "label": string | null; "size": string; "status": string; "secrets": Buffer; "broker_token_sha256": Buffer; "idle_timeout_seconds": number; "always_on": boolean; "disk_mb": number; "parent_id": string | null; "created_at": Date; "recovered_at": Date | null; "recovered_until": Date | null; "agent_id": string | null; "sandbox_status": string | null; "cpu": number | null; "memory_mb": number | null }, [string]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.patchDatabaseRow, { "id": string }, [string, string, number, boolean]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.readyDatabase, { "secrets": Buffer; "disk_mb": number }, [string]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.setDatabaseDisk, { "id": string }, [string, number]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.setDatabaseSecrets, { "id": string }, [string, Uint8Array, Uint8Array]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.setDatabaseDeleting, { "id": string }, [string, number]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.removeDatabaseRow, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.abandonedDatabaseIds, { "id": string }, [number]>>,
  Assert<Agreement<typeof kinds_databases_database_statements.endAbandonedDatabase, { "id": string }, [string]>>,
]

export type Of_kinds_databases_recovery_statements = [
  Assert<Agreement<typeof kinds_databases_recovery_statements.usableBackups, { "id": string; "database_id": string; "workspace_id": string; "from_agent": string; "tried": Computed<readonly string[]> }, []>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.endMovesOfLost, {  }, [string]>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.insertRecovery, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.openRecoveries, { "id": string; "workspace_id": string; "size": string; "secrets": Buffer; "idle_timeout_seconds": number; "always_on": boolean; "disk_mb": number; "move_id": string; "from_agent": string; "to_agent": string; "backup_id": string; "taken_at": Date; "created_at": Date; "backup_secrets": Buffer; "egress": string; "has_newer": Computed<boolean> }, []>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.endPointlessRecoveries, {  }, []>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.neededSegments, { "name": string; "taken_at": Date; "recorded_at": Date }, [string, string | Date]>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.takeOver, { "id": string }, [string, string, string, number, string | Date]>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.countLost, { "status": Computed<string>; "count": Computed<number> }, []>>,
  Assert<Agreement<typeof kinds_databases_recovery_statements.databaseForEdges, { "is_coming_back": Computed<boolean> }, [string]>>,
]

export type Of_kinds_databases_stored_archives_stored_archive_statements = [
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.dueArchives, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.dueArchive, { "id": string; "workspace_id": string; "listed_agent": string | null; "cursor": string; "agent_id": string; "is_running": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.storedAmong, { "name": string }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.noteStoring, { "name": string }, [string, string, number, string | Date]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.noteStored, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.noteCursor, {  }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.noteLooked, {  }, [string, boolean]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.noteFailure, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.storedArchive, { "listed_agent": string | null; "cursor": string; "error": string | null }, [string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.dropSegments, {  }, [string, string | Date]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.archivesToDelete, { "id": string }, [number]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.droppedSegments, { "name": string; "workspace_id": string }, [string, number]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.removeSegment, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.endDeletion, {  }, [string]>>,
  Assert<Agreement<typeof kinds_databases_stored_archives_stored_archive_statements.removeArchive, {  }, [string]>>,
]

export type Of_kinds_databases_verification_statements = [
  Assert<Agreement<typeof kinds_databases_verification_statements.lockVerifications, {  }, []>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.claimVerification, { "id": string; "agent_id": string; "workspace_id": string; "size_bytes": number; "created_at": Date; "database_id": string; "origin": string; "secrets": Buffer; "taken_at": Date; "verified": string; "verified_at": Date | null; "verify_error": string | null; "memory_mb": number; "size": string; "proof_tries": number }, [readonly string[], number]>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.hasPendingVerifications, { "found": Computed<boolean> }, []>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.setVerified, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.postponeVerification, { "id": string }, [string, number, number]>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.endAbandonedVerifications, { "id": string }, []>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.insertVerification, {  }, [string]>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.verificationsAmong, { "id": string }, [readonly string[]]>>,
  Assert<Agreement<typeof kinds_databases_verification_statements.removeOldVerifications, {  }, []>>,
]

export type Of_kinds_orgs_identity_account_deletion_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_account_deletion_statements.isFreshSession, { "is_fresh": Computed<boolean> }, [string, number]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_deletion_statements.lockWorkspacesOfUser, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_deletion_statements.workspacesLeft, { "id": string; "name": string; "role": string; "members": Computed<number>; "other_owners": Computed<number>; "is_used": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_deletion_statements.forgetInAuditLog, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_deletion_statements.removeUser, { "id": string }, [string, string]>>,
]

export type Of_kinds_orgs_identity_account_keys = [
  Assert<Agreement<typeof kinds_orgs_identity_account_keys.expireSigningKeys, {  }, []>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_keys.removeOldSigningKeys, {  }, []>>,
]

export type Of_kinds_orgs_identity_account_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.ensureAccount, {  }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.accountOf, { "plan": string; "plan_source": string; "subscription_status": string | null; "exhausted_until": Date | null; "customer_id": string | null; "subscription_id": string | null; "synced_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.lockAccount, { "plan": string; "plan_source": string; "subscription_status": string | null; "exhausted_until": Date | null; "customer_id": string | null; "subscription_id": string | null; "synced_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.upsertPlan, { "workspace_id": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.noteCustomer, { "customer_id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.accountOfCustomer, { "workspace_id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.noteSubscription, {  }, [string, string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.planChanges, { "plan": string; "at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.setRate, { "workspace_id": string }, [string, number, number]>>,
  Assert<Agreement<typeof kinds_orgs_identity_account_statements.setPlacement, { "workspace_id": string }, [string, string, string]>>,
]

export type Of_kinds_orgs_identity_api_key_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.liveKey, { "hash": Buffer; "workspace_id": string; "scopes": readonly string[] | null; "role": Computed<string>; "is_suspended": Computed<boolean>; "last_used_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.insertApiKey, { "prefix": string; "name": string; "scopes": readonly string[] | null; "created_at": Date; "expires_at": Date | null; "last_used_at": Date | null; "created_by": string | null }, [string, Uint8Array, string, string, string, readonly string[], number]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.lockWorkspace, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.countTokens, { "count": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.revokeToken, { "workspace_id": string; "name": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.revokeTokensOfUser, { "prefix": string; "workspace_id": string; "name": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.revokeTokensOfMember, { "prefix": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_api_key_statements.touchApiKeys, {  }, [readonly string[]]>>,
]

export type Of_kinds_orgs_identity_foreign_user_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_foreign_user_statements.userOfAccount, { "user_id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_foreign_user_statements.lockSubject, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_foreign_user_statements.insertUser, { "id": string }, [string, string, boolean]>>,
  Assert<Agreement<typeof kinds_orgs_identity_foreign_user_statements.verifiedUser, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_foreign_user_statements.insertAccount, {  }, [string, string, string]>>,
]

export type Of_kinds_orgs_identity_invitation_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.openInvitation, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.insertInvitation, { "id": string; "email": string; "role": string; "created_at": Date; "expires_at": Date }, [string, string, string, Uint8Array, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.removeInvitation, { "email": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.invitationByToken, { "id": string; "email": string; "role": string; "created_at": Date; "expires_at": Date; "workspace_id": string }, [Uint8Array]>>,
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.takenSeats, { "seats": Computed<number>; "is_member": Computed<boolean> }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.confirmAddress, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_invitation_statements.removeOldInvitations, {  }, []>>,
]

export type Of_kinds_orgs_identity_membership_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.membershipsOfUser, { "user_id": string; "email": string; "user_name": string; "workspace_id": string | null; "slug": string | null; "workspace_name": string | null; "role": string | null; "is_suspended": Computed<boolean>; "is_current": Computed<boolean>; "plan": string | null }, [string, string, number]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.chooseWorkspace, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.lockUser, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.insertWorkspace, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.insertMember, { "id": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.userByEmail, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.endTokens, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_membership_statements.signingKeys, { "id": string; "publicKey": string; "alg": string | null }, []>>,
]

export type Of_kinds_orgs_identity_operator_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.liveOperatorKey, { "hash": Buffer; "id": string; "role": string; "is_noted": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.noteOperatorKeyUse, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.insertBootstrapOperator, {  }, []>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.setBootstrapKey, { "operator_id": string }, [Uint8Array]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.restoreOperator, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.insertOperator, { "id": string; "name": string; "role": string; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.lockOwners, { "id": string }, []>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.operatorById, { "id": string; "name": string; "role": string; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.changeOperator, { "id": string; "name": string; "role": string; "created_at": Date }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.removeOperator, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.revokeKeysOfOperator, { "prefix": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.ownersLeft, { "count": Computed<number> }, []>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.insertOperatorKey, { "prefix": string; "name": string; "created_at": Date; "expires_at": Date | null; "last_used_at": Date | null }, [string, string, Uint8Array, string, number]>>,
  Assert<Agreement<typeof kinds_orgs_identity_operator_statements.revokeOperatorKey, { "name": string }, [string, string]>>,
]

export type Of_kinds_orgs_identity_org_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.orgDetails, { "created_at": Date; "suspended": Computed<boolean>; "members": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.ownerOfSandbox, { "workspace_id": string; "is_suspended": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.insertOrg, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.ownedPlans, { "plan": string | null }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.changeOrg, { "name": string; "slug": string }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.markOrgDeleted, { "name": string; "slug": string }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.closeOrg, {  }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.membersOfOrg, { "user_id": string; "email": string; "name": string; "role": string; "joined_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.changeRole, {  }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.removeMember, { "role": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_org_statements.workspaceSlug, { "slug": string }, [string]>>,
]

export type Of_kinds_orgs_identity_sign_in_link_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_sign_in_link_statements.putSignInLink, {  }, [string, Uint8Array, number]>>,
  Assert<Agreement<typeof kinds_orgs_identity_sign_in_link_statements.takeSignInLink, { "user_id": string; "is_valid": Computed<boolean> }, [Uint8Array]>>,
]

export type Of_kinds_orgs_identity_ssh_service_key_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_ssh_service_key_statements.sshServiceKeys, { "purpose": string; "key": Buffer }, []>>,
  Assert<Agreement<typeof kinds_orgs_identity_ssh_service_key_statements.insertSshServiceKey, {  }, [string, Uint8Array]>>,
]

export type Of_kinds_orgs_identity_used_code_statements = [
  Assert<Agreement<typeof kinds_orgs_identity_used_code_statements.claimCode, { "code": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_identity_used_code_statements.removeOldCodes, {  }, []>>,
]

export type Of_kinds_orgs_operators_get_hosts = [
  Assert<Agreement<typeof kinds_orgs_operators_get_hosts.hostById, { "id": Computed<string>; "url": Computed<string>; "info": Computed<Json>; "cordoned_at": Computed<Date>; "drain_begun_at": Computed<Date>; "drain_ended_at": Computed<Date>; "labels": Computed<Json>; "zone": Computed<string>; "lost_at": Computed<Date>; "seen_at": Computed<Date>; "created_at": Computed<Date>; "sandboxes": Computed<number>; "instances": Computed<number>; "databases": Computed<number>; "lease_generation": number | null; "lease_seconds": number | null; "lease_renewed_at": Date | null; "lease_ended_at": Computed<Date> }, [string]>>,
]

export type Of_kinds_orgs_operators_operator_queries = [
  Assert<Agreement<typeof kinds_orgs_operators_operator_queries.orgById, { "id": string; "slug": string; "name": string; "plan": string | null; "suspended": Computed<boolean>; "required_labels": Computed<Json>; "required_zone": string | null; "created_at": Computed<Date>; "owners": Computed<readonly string[]> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_operators_operator_queries.setSuspended, { "id": string }, [string, boolean]>>,
]

export type Of_kinds_orgs_ssh_ssh_key_statements = [
  Assert<Agreement<typeof kinds_orgs_ssh_ssh_key_statements.countSshKeys, { "count": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_orgs_ssh_ssh_key_statements.insertSshKey, { "id": string; "name": string; "blob": Buffer; "fingerprint": string; "created_at": Date; "last_used_at": Date | null }, [string, string, Uint8Array, string]>>,
  Assert<Agreement<typeof kinds_orgs_ssh_ssh_key_statements.deleteSshKey, { "fingerprint": string; "name": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_ssh_ssh_key_statements.sshKeyOfMember, { "id": string; "user_id": string; "blob": Buffer; "last_used_at": Date | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_orgs_ssh_ssh_key_statements.touchSshKey, {  }, [string]>>,
]

export type Of_kinds_sandboxes_deleted_orgs_statements = [
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.deletedOrgIds, { "id": string }, [number]>>,
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.deletedOrg, { "id": string; "name": string }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.endSandboxes, {  }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.snapshotsToEnd, { "id": string; "name": string | null; "workspace_id": string; "agent_id": string; "sandbox_id": string; "template": string; "cpu": number; "memory_mb": number; "size_bytes": number; "origin": string; "managed_by": string | null; "egress": string; "visibility": string; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.volumesToEnd, { "id": string; "workspace_id": string; "agent_id": string; "kind": string; "name": string; "size_mb": number; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.leftInOrg, { "count": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_deleted_orgs_statements.removeOrg, { "id": string }, [string]>>,
]

export type Of_kinds_sandboxes_events_event_statements = [
  Assert<Agreement<typeof kinds_sandboxes_events_event_statements.appendEvents, {  }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_events_event_statements.eventPartitions, { "day": Computed<string> }, []>>,
  Assert<Agreement<typeof kinds_sandboxes_events_event_statements.workspacesWithEvents, { "xid": Computed<string>; "workspaces": Computed<Json> }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_events_event_statements.lastComplete, { "xid": Computed<string> }, []>>,
  Assert<Agreement<typeof kinds_sandboxes_events_event_statements.isPastTransaction, { "is_past": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_events_event_statements.renumberRestored, {  }, []>>,
]

export type Of_kinds_sandboxes_forks_fork_statements = [
  Assert<Agreement<typeof kinds_sandboxes_forks_fork_statements.stageFork, { "id": string; "visibility": string }, [string, string, string, number, string, string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_forks_fork_statements.detachWinner, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_forks_fork_statements.doomSiblings, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string, number]>>,
]

export type Of_kinds_sandboxes_lifecycle_lifecycle_statements = [
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_lifecycle_statements.unsettle, { "mark": Date; "is_alone": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_lifecycle_statements.setLifecycle, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, number, boolean, number, string | Date, string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_lifecycle_statements.unsettledOfAgent, { "id": string; "workspace_id": string; "persistent": boolean; "idle_timeout_seconds": number; "visibility": string; "plan": string | null; "mark": Date }, [string, number]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_lifecycle_statements.settle, {  }, [string, string | Date]>>,
]

export type Of_kinds_sandboxes_lifecycle_timeout_statements = [
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_timeout_statements.timedOutIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_timeout_statements.beginTimeout, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_timeout_statements.extendedMeanwhile, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_timeout_statements.failTimeout, { "is_first": Computed<boolean> }, [string, boolean]>>,
  Assert<Agreement<typeof kinds_sandboxes_lifecycle_timeout_statements.forgetTimeout, {  }, [string]>>,
]

export type Of_kinds_sandboxes_lineage_lineage_statements = [
  Assert<Agreement<typeof kinds_sandboxes_lineage_lineage_statements.lineageOfSandbox, { "id": string; "kind": string; "link": string; "parent_id": string | null; "name": Computed<string>; "template": string; "status": Computed<string>; "cpu": Computed<number>; "memory_mb": Computed<number>; "size_bytes": Computed<number>; "fork_tree_id": string | null; "promoted": Computed<boolean>; "root_id": string; "created_at": Date; "deleted_at": Date | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_lineage_lineage_statements.removeOldLineage, {  }, []>>,
]

export type Of_kinds_sandboxes_links_link_statements = [
  Assert<Agreement<typeof kinds_sandboxes_links_link_statements.insertLink, { "id": string; "port": number | null; "label": string | null; "created_at": Date; "expires_at": Date }, [string, number, string, string, Uint8Array, string, number]>>,
  Assert<Agreement<typeof kinds_sandboxes_links_link_statements.removeLink, { "id": string }, [string, number, string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_links_link_statements.linkOfToken, { "id": string; "port": number | null; "label": string | null; "created_at": Date; "expires_at": Date }, [string, number, string, Uint8Array]>>,
  Assert<Agreement<typeof kinds_sandboxes_links_link_statements.openLink, { "id": string }, [string, number, string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_links_link_statements.removeOldLinks, {  }, []>>,
]

export type Of_kinds_sandboxes_model_sandbox_statements = [
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.insertCreating, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string, string, number, string, number, number, string, boolean, number, number, string, string, string, string, string, string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.sandboxesManagedBy, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.moveCreating, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.setCreated, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, string, string, number, string, string, number, number, number]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.sandboxById, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.removeCreating, { "id": string }, [readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.removeDeletedSandboxRow, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.removeSandboxRow, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.countByStatus, { "status": string; "count": Computed<number> }, []>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.expiredIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.endExpired, { "id": string; "workspace_id": string; "agent_id": string; "creator": number; "template": string; "status": string; "boot_ms": number | null; "boot_mode": string | null; "guest_ip": string | null; "cpu": number; "memory_mb": number; "metadata": Json; "volumes": Json; "persistent": boolean; "ttl_seconds": number; "idle_timeout_seconds": number; "expires_at": Date | null; "on_timeout": string; "from_snapshot": string | null; "parent_id": string | null; "fork_tree_id": string | null; "managed_by": string | null; "egress": string; "visibility": string; "last_event_seq": number; "created_at": Date }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.setDeletionDue, {  }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_model_sandbox_statements.retryDeletion, {  }, [string, number]>>,
]

export type Of_kinds_sandboxes_ports_port_statements = [
  Assert<Agreement<typeof kinds_sandboxes_ports_port_statements.portsOfSandbox, { "port": number; "label": string | null }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_ports_port_statements.lockSandbox, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_ports_port_statements.namePort, { "port": number; "label": string | null }, [string, number, string, number]>>,
  Assert<Agreement<typeof kinds_sandboxes_ports_port_statements.removePort, { "port": number; "label": string | null }, [string, number]>>,
]

export type Of_kinds_sandboxes_snapshots_snapshot_statements = [
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.insertCreatingSnapshot, { "id": string }, [string, string, number, string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.setSnapshotReady, { "id": string; "name": string | null; "workspace_id": string; "agent_id": string; "sandbox_id": string; "template": string; "cpu": number; "memory_mb": number; "size_bytes": number; "origin": string; "managed_by": string | null; "egress": string; "visibility": string; "created_at": Date }, [string, number]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.removeCreatingSnapshot, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.snapshotOfWorkspace, { "id": string; "name": string | null; "workspace_id": string; "agent_id": string; "sandbox_id": string; "template": string; "cpu": number; "memory_mb": number; "size_bytes": number; "origin": string; "managed_by": string | null; "egress": string; "visibility": string; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.anySnapshotOfWorkspace, { "id": string; "name": string | null; "workspace_id": string; "agent_id": string; "sandbox_id": string; "template": string; "cpu": number; "memory_mb": number; "size_bytes": number; "origin": string; "managed_by": string | null; "egress": string; "visibility": string; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.removeSnapshotRow, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.unusedSnapshotIds, { "id": string }, [number, readonly string[]]>>,
  Assert<Agreement<typeof kinds_sandboxes_snapshots_snapshot_statements.endUnusedSnapshot, { "id": string; "name": string | null; "workspace_id": string; "agent_id": string; "sandbox_id": string; "template": string; "cpu": number; "memory_mb": number; "size_bytes": number; "origin": string; "managed_by": string | null; "egress": string; "visibility": string; "created_at": Date }, [string, readonly string[]]>>,
]

export type Of_kinds_templates_build_statements = [
  Assert<Agreement<typeof kinds_templates_build_statements.insertBuild, { "id": string; "workspace_id": string; "agent_id": string; "name": string; "status": string; "stage": string; "percent": number; "error": string | null; "size_mb": number; "bytes": number; "created_at": Date; "started_at": Date | null; "ended_at": Date | null }, [string, string, string, number, string, number, number]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.setBuildSource, { "id": string; "workspace_id": string; "agent_id": string; "name": string; "status": string; "stage": string; "percent": number; "error": string | null; "size_mb": number; "bytes": number; "created_at": Date; "started_at": Date | null; "ended_at": Date | null }, [string, number, number]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.removeBuild, {  }, [string]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.buildOfWorkspace, { "id": string; "workspace_id": string; "agent_id": string; "name": string; "status": string; "stage": string; "percent": number; "error": string | null; "size_mb": number; "bytes": number; "created_at": Date; "started_at": Date | null; "ended_at": Date | null }, [string, string]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.anyBuildOfTemplate, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.openBuilds, { "id": string; "agent_id": string; "size_mb": number; "is_abandoned": Computed<boolean> }, [number]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.setBuildProgress, {  }, [string, string, string, number, string | Date]>>,
  Assert<Agreement<typeof kinds_templates_build_statements.endBuild, { "id": string; "workspace_id": string; "agent_id": string; "name": string; "status": string; "stage": string; "percent": number; "error": string | null; "size_mb": number; "bytes": number; "created_at": Date; "started_at": Date | null; "ended_at": Date | null }, [string, string, string, number, string, string | Date, string | Date]>>,
]

export type Of_kinds_templates_template_statements = [
  Assert<Agreement<typeof kinds_templates_template_statements.templateByName, { "id": string | null; "agent_id": string | null; "name": string; "workspace_id": string | null; "rootfs_path": string; "size_bytes": number; "cpu": number; "memory_mb": number; "meta": Json; "created_at": Date; "updated_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_templates_template_statements.reportGlobalTemplates, {  }, [string]>>,
  Assert<Agreement<typeof kinds_templates_template_statements.dropUnreportedTemplates, {  }, []>>,
  Assert<Agreement<typeof kinds_templates_template_statements.putTemplate, { "name": string }, [string, string, string, string, string, number, number, number, string]>>,
  Assert<Agreement<typeof kinds_templates_template_statements.removeTemplateRow, { "name": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_templates_template_statements.otherTemplateIds, { "id": Computed<string> }, [string]>>,
]

export type Of_kinds_volumes_volume_statements = [
  Assert<Agreement<typeof kinds_volumes_volume_statements.insertCreatingVolume, { "id": string }, [string, string, string, number, string, string, number]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.moveCreatingVolume, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.setVolumeReady, { "id": string; "workspace_id": string; "agent_id": string; "kind": string; "name": string; "size_mb": number; "created_at": Date }, [string, number]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.removeCreatingVolume, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.removeVolumeRow, { "id": string }, [string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.volumeByName, { "id": string; "workspace_id": string; "agent_id": string; "kind": string; "name": string; "size_mb": number; "created_at": Date; "attachments": Computed<Json> }, [string, string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.volumesByName, { "id": string; "workspace_id": string; "agent_id": string; "kind": string; "name": string; "size_mb": number; "created_at": Date }, [string, readonly string[]]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.anySnapshotOfVolume, { "id": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.volumeSnapshotById, { "id": string; "workspace_id": string; "agent_id": string; "kind": string; "name": string; "size_mb": number; "created_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.volumeById, { "id": string; "workspace_id": string; "agent_id": string; "kind": string; "name": string; "size_mb": number; "created_at": Date; "status": string }, [string, string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.countVolumes, { "count": Computed<number> }, [string, string]>>,
  Assert<Agreement<typeof kinds_volumes_volume_statements.volumeRowsOfAgent, { "id": string; "workspace_id": string; "status": string; "size_mb": number; "is_abandoned": Computed<boolean> }, [string, number]>>,
]

export type Of_kinds_webhooks_delivery_delivery_statements = [
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.leaseWebhook, { "id": string }, [string, string, number, number]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.webhookState, { "workspace_id": string; "is_held": Computed<boolean> }, [string]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.leasedWebhook, { "workspace_id": string; "url": string; "secret": Buffer; "previous_secret": Computed<Buffer> }, [string, string]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.endLeaseOfWebhook, {  }, [string, string]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.dueDeliveries, { "id": string; "payload": Json; "tries": number; "expires_at": Date }, [string, readonly string[], number]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.scheduleDelivery, {  }, [string, number]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.recordAttempt, { "id": string }, [string, string, number, number, string, number]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.noteSuccess, {  }, [string]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.noteFailure, { "enabled": boolean }, [string, boolean]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.dueWebhooks, { "id": string }, [number]>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.disableOverfull, {  }, []>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.endOfDisabled, {  }, []>>,
  Assert<Agreement<typeof kinds_webhooks_delivery_delivery_statements.removeOldDeliveries, {  }, []>>,
]

export type Of_kinds_webhooks_model_webhook_statements = [
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.countWebhooks, { "count": Computed<number> }, [string]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.insertWebhook, { "id": string; "workspace_id": string; "url": string; "events": readonly string[]; "objects": readonly string[]; "description": string | null; "enabled": boolean; "disabled_reason": string | null; "disabled_at": Date | null; "failing_since": Date | null; "previous_until": Date | null; "created_at": Date; "updated_at": Date }, [string, string, string, readonly string[], readonly string[], string, Uint8Array]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.webhookOfWorkspace, { "id": string; "workspace_id": string; "url": string; "events": readonly string[]; "objects": readonly string[]; "description": string | null; "enabled": boolean; "disabled_reason": string | null; "disabled_at": Date | null; "failing_since": Date | null; "previous_until": Date | null; "created_at": Date; "updated_at": Date }, [string, string]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.patchWebhookRow, { "id": string; "workspace_id": string; "url": string; "events": readonly string[]; "objects": readonly string[]; "description": string | null; "enabled": boolean; "disabled_reason": string | null; "disabled_at": Date | null; "failing_since": Date | null; "previous_until": Date | null; "created_at": Date; "updated_at": Date }, [string, string, readonly string[], readonly string[], string, boolean]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.deleteWebhookRow, {  }, [string]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.rotateWebhookSecret, { "id": string; "workspace_id": string; "url": string; "events": readonly string[]; "objects": readonly string[]; "description": string | null; "enabled": boolean; "disabled_reason": string | null; "disabled_at": Date | null; "failing_since": Date | null; "previous_until": Date | null; "created_at": Date; "updated_at": Date }, [string, Uint8Array, number]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.forgetOldSecrets, {  }, []>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.insertDelivery, { "id": string; "webhook_id": string; "type": string; "status": string; "attempts": number; "response_status": number | null; "duration_ms": number | null; "error": string | null; "due_at": Date | null; "created_at": Date; "finished_at": Date | null }, [string, string, string]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.deliveryOfWebhook, { "id": string; "webhook_id": string; "type": string; "status": string; "attempts": number; "response_status": number | null; "duration_ms": number | null; "error": string | null; "due_at": Date | null; "created_at": Date; "finished_at": Date | null; "payload": Json; "log": Json }, [string, string]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.redeliver, { "id": string; "webhook_id": string; "type": string; "status": string; "attempts": number; "response_status": number | null; "duration_ms": number | null; "error": string | null; "due_at": Date | null; "created_at": Date; "finished_at": Date | null }, [string]>>,
  Assert<Agreement<typeof kinds_webhooks_model_webhook_statements.redeliverFailed, { "count": Computed<number> }, [string, string]>>,
]

export type Of_platform_audit_audit_statements = [
  Assert<Agreement<typeof platform_audit_audit_statements.insertEntry, { "id": string }, [string, string, string, string, string, string, string, string, string]>>,
  Assert<Agreement<typeof platform_audit_audit_statements.noteOutcome, {  }, [string, number, string]>>,
  Assert<Agreement<typeof platform_audit_audit_statements.removeOldEntries, {  }, [number]>>,
]

export type Of_platform_db_lease = [
  Assert<Agreement<typeof platform_db_lease.takeLease, { "name": string }, [string, string, number, number]>>,
  Assert<Agreement<typeof platform_db_lease.holdLease, { "name": string }, [string, string]>>,
  Assert<Agreement<typeof platform_db_lease.endLease, {  }, [string, string]>>,
]

export type Of_platform_idempotency_idempotency_statements = [
  Assert<Agreement<typeof platform_idempotency_idempotency_statements.claimRequest, { "key": string }, [string, string, Uint8Array, number, string]>>,
  Assert<Agreement<typeof platform_idempotency_idempotency_statements.firstRequest, { "fingerprint": Buffer; "resource_id": string; "status": number | null; "answer": Buffer | null; "is_abandoned": Computed<boolean> }, [string, string, number]>>,
  Assert<Agreement<typeof platform_idempotency_idempotency_statements.takeOverRequest, { "key": string }, [string, string, string, number, string]>>,
  Assert<Agreement<typeof platform_idempotency_idempotency_statements.keepAnswer, {  }, [string, string, string, number, Uint8Array]>>,
  Assert<Agreement<typeof platform_idempotency_idempotency_statements.forgetRequest, {  }, [string, string, string]>>,
  Assert<Agreement<typeof platform_idempotency_idempotency_statements.removeOldRequests, {  }, []>>,
]

export type Of_platform_jobs_job_statements = [
  Assert<Agreement<typeof platform_jobs_job_statements.livingProcesses, { "numbers": Computed<Json> }, []>>,
  Assert<Agreement<typeof platform_jobs_job_statements.nextDue, { "ms": Computed<number> }, [readonly string[], number]>>,
  Assert<Agreement<typeof platform_jobs_job_statements.unlockDead, {  }, []>>,
  Assert<Agreement<typeof platform_jobs_job_statements.unlockWorkers, {  }, [readonly string[]]>>,
  Assert<Agreement<typeof platform_jobs_job_statements.addRecurring, {  }, [string, number]>>,
  Assert<Agreement<typeof platform_jobs_job_statements.wakeJob, {  }, [string]>>,
  Assert<Agreement<typeof platform_jobs_job_statements.addMissing, { "id": Computed<string> }, [readonly string[], readonly string[]]>>,
  Assert<Agreement<typeof platform_jobs_job_statements.keepRetrying, {  }, [readonly string[], number]>>,
  Assert<Agreement<typeof platform_jobs_job_statements.removeReplaced, {  }, []>>,
  Assert<Agreement<typeof platform_jobs_job_statements.countJobs, { "task": string; "state": Computed<string>; "count": Computed<number>; "late_seconds": Computed<number> }, []>>,
]

export type Of_platform_jobs_operated_jobs = [
  Assert<Agreement<typeof platform_jobs_operated_jobs.findJob, { "id": Computed<string> }, [string]>>,
  Assert<Agreement<typeof platform_jobs_operated_jobs.retryJob, { "id": Computed<string> }, [string]>>,
  Assert<Agreement<typeof platform_jobs_operated_jobs.discardJob, { "id": Computed<string> }, [string]>>,
]

export type Of_platform_limits_postgres_buckets = [
  Assert<Agreement<typeof platform_limits_postgres_buckets.leaseTokens, { "granted": number; "burst": Computed<number>; "per_second": Computed<number> }, [string, number, number, number, number]>>,
]

export type Of_platform_limits_redis_buckets = [
  Assert<Agreement<typeof platform_limits_redis_buckets.rateOfWorkspace, { "burst": Computed<number>; "per_second": Computed<number> }, [string, number, number]>>,
]

export type Of_platform_mail_mail_statements = [
  Assert<Agreement<typeof platform_mail_mail_statements.insertMail, { "id": string; "sealed": Buffer }, [Uint8Array]>>,
  Assert<Agreement<typeof platform_mail_mail_statements.dueMails, { "id": string }, [number]>>,
  Assert<Agreement<typeof platform_mail_mail_statements.dueMail, { "id": string; "sealed": Buffer }, [string]>>,
  Assert<Agreement<typeof platform_mail_mail_statements.removeMail, {  }, [string]>>,
  Assert<Agreement<typeof platform_mail_mail_statements.removeUnsendable, { "id": string }, []>>,
]

export type Of_platform_secrets_keyring_statements = [
  Assert<Agreement<typeof platform_secrets_keyring_statements.sealingKeys, { "version": number; "sealed": Buffer; "created_at": Date; "active_at": Date; "is_active": Computed<boolean>; "is_resealed": Computed<boolean> }, []>>,
  Assert<Agreement<typeof platform_secrets_keyring_statements.insertSealingKey, { "version": number; "sealed": Buffer; "created_at": Date; "active_at": Date; "is_active": Computed<boolean>; "is_resealed": Computed<boolean> }, [number, Uint8Array, number]>>,
  Assert<Agreement<typeof platform_secrets_keyring_statements.resealKey, {  }, [number, Uint8Array]>>,
  Assert<Agreement<typeof platform_secrets_keyring_statements.finishResealing, { "version": number }, [number, number]>>,
]
