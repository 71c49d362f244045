// Generated from /openapi.json by generate-types.mjs. Do not edit.

export interface components {
  schemas: {
    Error: {
      error: string;
      detail?: string;
    };
    /** @description Answer of `GET /v1/status`. */
    ServiceStatus: {
      /** @description The worst status of a part, without parts that are `unknown`. */
      status: components["schemas"]["PartStatus"];
      parts: {
        api: components["schemas"]["PartStatus"];
        sandboxes: components["schemas"]["PartStatus"];
        databases: components["schemas"]["PartStatus"];
        apps: components["schemas"]["PartStatus"];
        /** @description Ports of sandboxes and addresses of apps. Only the process to which an edge is connected knows them. */
        previews: components["schemas"]["PartStatus"];
      };
      /** @description When the parts were looked at: RFC 3339, UTC, milliseconds. */
      checkedAt: string;
    };
    /**
     * @description `degraded`: it works, but not for everybody or not with all hosts. `unknown`: the control process that answers cannot tell.
     * @enum {string}
     */
    PartStatus: "operational" | "degraded" | "down" | "unknown";
    /** @description Answer of `GET /v1/service`. */
    Service: {
      /**
       * @description Who may make an account: anybody, somebody with an open invitation, or nobody.
       * @enum {string}
       */
      signUp: "open" | "invitation" | "closed";
      /** @description OpenID Connect providers that can be used now, for `POST /api/auth/sign-in/social`. */
      signInProviders: {
        id: string;
        name: string;
      }[];
      /** @description How to reach the operator, if the settings say so. */
      support: string | null;
      /** @description Whether plans can be bought: checkout and portal answer 503 otherwise. */
      hasPayments: boolean;
    };
    /** @description Answer of `GET /v1/me`. */
    Me: {
      user: {
        id: string;
        email: string;
        name: string;
      };
      /** @description The workspace of this request. */
      org: components["schemas"]["WorkspaceSummary"];
      orgs: components["schemas"]["WorkspaceSummary"][];
      /** @description What the caller's role in `org` permits beyond what every member may do. A narrowed token also needs the scope. */
      permissions: components["schemas"]["Permission"][];
      /** @description `*`: everything that the role in the workspace allows. A narrowed token has its own scopes here. */
      scopes: string[];
      /** @constant */
      authMethod: "jwt";
    };
    /** @description A workspace in a list of the caller's workspaces. */
    WorkspaceSummary: {
      id: string;
      slug: string;
      name: string;
      /** @description The caller's own role in the workspace. */
      role: components["schemas"]["WorkspaceRole"];
      plan: string;
    };
    /**
     * @description Role of a member in a workspace. Each workspace has at least one owner.
     * @enum {string}
     */
    WorkspaceRole: "owner" | "admin" | "member";
    /**
     * @description What a role can permit.
     * @enum {string}
     */
    Permission: "workspace:read" | "workspace:update" | "workspace:delete" | "members:manage" | "members:promote" | "tokens:manage" | "billing:manage" | "audit:read";
    /** @description Body of `DELETE /v1/me`. Without a password, the caller must have signed in within the last 5 minutes. */
    DeleteMeBody: {
      password?: string | null;
    };
    /** @description Body of `POST /v1/me/current-org`: one of the two fields. */
    ChooseOrgBody: {
      orgId: string | null;
      slug?: string | null;
    } | {
      orgId?: string | null;
      slug: string | null;
    };
    /** @description Answer of `POST /v1/me/current-org`. */
    ChosenOrg: {
      org: components["schemas"]["WorkspaceSummary"];
    };
    /**
     * @description A scope of a key, e.g. `sandboxes:read`. A key without scopes may do everything.
     * @enum {string}
     */
    Scope: "sandboxes:read" | "sandboxes:write" | "templates:read" | "templates:write" | "volumes:read" | "volumes:write" | "databases:read" | "databases:write" | "apps:read" | "apps:write" | "billing:read" | "billing:write" | "audit:read" | "audit:write" | "webhooks:read" | "webhooks:write";
    /** @description Answer of `POST /v1/me/tokens`, the only one that contains the secret. */
    CreatedToken: {
      /** @description `ofs_` and 8 characters. Identifies the key, also to revoke it. */
      prefix: string;
      name: string;
      /** @description Equal to `name`. */
      label: string;
      /** @description `null`: no restriction. */
      scopes: components["schemas"]["Scope"][] | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description `null`: never. */
      expiresAt: string | null;
      /** @description Accurate to the minute; `null` before the first use. */
      lastUsedAt: string | null;
      /** @description Id of the creating user; `null` if the account was deleted. */
      createdBy: string | null;
      token: string;
    };
    /** @description An API key without its secret. */
    Token: {
      /** @description `ofs_` and 8 characters. Identifies the key, also to revoke it. */
      prefix: string;
      name: string;
      /** @description Equal to `name`. */
      label: string;
      /** @description `null`: no restriction. */
      scopes: components["schemas"]["Scope"][] | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description `null`: never. */
      expiresAt: string | null;
      /** @description Accurate to the minute; `null` before the first use. */
      lastUsedAt: string | null;
      /** @description Id of the creating user; `null` if the account was deleted. */
      createdBy: string | null;
    };
    /** @description An object of the workspace was made, changed or deleted. */
    Change: {
      kind: components["schemas"]["ChangeKind"];
      id: string;
    };
    /**
     * @description What a message of `GET /v1/changes` can be about. `id` is that of the API's paths: the name of a template or a volume, the domain, the prefix of a key, the user's id of a member, and the id of everything else.
     * @enum {string}
     */
    ChangeKind: "sandbox" | "snapshot" | "template" | "build" | "volume" | "volume_snapshot" | "database" | "backup" | "app" | "deployment" | "domain" | "webhook" | "webhook_delivery" | "key" | "ssh_key" | "member" | "invitation" | "workspace";
    /** @description Body of `POST /v1/me/access-tokens`. */
    AccessTokenBody: {
      /** @description The only workspace in which the token acts. Default: the one of this request. */
      orgId?: string | null;
      /** @description As for an API key. Default: all. */
      scopes?: components["schemas"]["Scope"][] | null;
      /** @description 60 to 3600. Default: 900. The token ends with the caller's own at the latest. */
      expiresInSeconds?: number | null;
    };
    /** @description Answer of `POST /v1/me/access-tokens`. */
    AccessToken: {
      token: string;
      orgId: string;
      /** @description `null`: all. */
      scopes: components["schemas"]["Scope"][] | null;
      /** @description RFC 3339, UTC, milliseconds. */
      expiresAt: string;
    };
    /** @description One entry of `GET /v1/audit`: actor, action, time and source address. */
    AuditEntry: {
      id: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description `service`: Offshoot itself, completing an operation that a user began. */
      actor: {
        /** @enum {string} */
        type: "user" | "key" | "sandbox" | "operator" | "service";
        /** @description Id of a user or of an operator, or prefix of a key. `sandbox`: the sandbox whose own credential was used. */
        id: string | null;
      };
      action: components["schemas"]["AuditAction"];
      /** @description The object of the action: an id, a prefix or an address, depending on the action. */
      target: string | null;
      /** @description `null`: the action has no object, or the entry is from before this field. */
      targetKind: components["schemas"]["AuditTargetKind"] | null;
      /** @description Client address of the request. */
      ip: string | null;
      requestId: string | null;
      /** @description Keys depend on the action, and may grow. */
      details: {
        [key: string]: unknown;
      };
    };
    /**
     * @description All actions that the audit log records.
     * @enum {string}
     */
    AuditAction: "token.created" | "token.revoked" | "org.created" | "org.updated" | "org.deleted" | "org.emptied" | "org.plan_set" | "org.suspended" | "org.unsuspended" | "org.credit_granted" | "org.rate_set" | "org.placement_set" | "invitation.created" | "invitation.revoked" | "member.joined" | "member.role_changed" | "member.removed" | "operator.created" | "operator.updated" | "operator.removed" | "operator_key.created" | "operator_key.revoked" | "host.reconciled" | "host.token_created" | "host.joined" | "host.removed" | "host.cordoned" | "host.uncordoned" | "host.drain_begun" | "host.drained" | "sandbox.moved" | "sandbox.recovered" | "snapshot.moved" | "template.moved" | "database.recovered" | "app.moved" | "app.recovered" | "host.updated" | "keys.rotated" | "authority.rotation_begun" | "authority.advanced" | "account.deleted" | "ssh_key.created" | "ssh_key.removed" | "ssh_certificate.issued" | "ssh.connected" | "request.made" | "secret.read";
    /**
     * @description What the target of an entry is.
     * @enum {string}
     */
    AuditTargetKind: "app" | "authority" | "build" | "database" | "host" | "installation" | "invitation" | "job" | "operator" | "operator_key" | "org" | "sandbox" | "sealing_key" | "snapshot" | "ssh_key" | "template" | "token" | "user" | "volume" | "webhook";
    /** @description An entry of `GET /v1/admin/audit`, the log of all workspaces. */
    OperatedAuditEntry: {
      id: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description `name`: of an operator, `null` for others. */
      actor: {
        /** @enum {string} */
        type: "user" | "key" | "sandbox" | "operator" | "service";
        /** @description Id of a user or of an operator, or prefix of a key. `sandbox`: the sandbox whose own credential was used. */
        id: string | null;
        name: string | null;
      };
      action: components["schemas"]["AuditAction"];
      /** @description The object of the action: an id, a prefix or an address, depending on the action. */
      target: string | null;
      /** @description `null`: the action has no object, or the entry is from before this field. */
      targetKind: components["schemas"]["AuditTargetKind"] | null;
      /** @description Client address of the request. */
      ip: string | null;
      requestId: string | null;
      /** @description Keys depend on the action, and may grow. */
      details: {
        [key: string]: unknown;
      };
      /** @description `null`: the action belongs to no workspace. */
      workspaceId: string | null;
    };
    /** @description Body of `POST /v1/orgs`. */
    CreateOrgBody: {
      name: string;
      /** @description Part of addresses. Derived from the name if absent. */
      slug?: string | null;
    };
    /** @description A workspace read by its id, with fields that a list omits. */
    Org: {
      id: string;
      slug: string;
      name: string;
      /** @description The caller's own role in the workspace. */
      role: components["schemas"]["WorkspaceRole"];
      plan: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description Number of members. */
      members: number;
      /** @description An operator has suspended the workspace's compute. */
      suspended: boolean;
    };
    /** @description Body of `PATCH /v1/orgs/{id}`. */
    ChangeOrgBody: {
      name?: string | null;
      /** @description As for a new workspace, or the slug that the workspace has. */
      slug?: string | null;
    };
    /** @description A member of a workspace. */
    Member: {
      userId: string;
      email: string;
      name: string;
      role: components["schemas"]["WorkspaceRole"];
      /** @description RFC 3339, UTC, milliseconds. */
      joinedAt: string;
    };
    /** @description Body of `POST /v1/orgs/{id}/members`. */
    InviteBody: {
      email: string;
      /** @description Default `member`. Only an existing member can become an owner. */
      role?: ("admin" | "member") | null;
    };
    /** @description A pending invitation. Its secret is in the mail only. */
    Invitation: {
      id: string;
      email: string;
      /** @enum {string} */
      role: "admin" | "member";
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      expiresAt: string;
    };
    /** @description Body of `PATCH /v1/orgs/{id}/members/{user_id}`. */
    ChangeMemberBody: {
      /** @enum {string} */
      role: "owner" | "admin" | "member";
    };
    /** @description A workspace as operators see it. */
    OperatedOrg: {
      id: string;
      slug: string;
      name: string;
      plan: components["schemas"]["PlanName"];
      suspended: boolean;
      /** @description E-mail addresses of its owners. */
      owners: string[];
      /** @description Control places the workspace's new objects only on hosts that have this. */
      placement: {
        /** @description All of these. */
        labels: {
          [key: string]: string;
        };
        /** @description `null`: any zone. */
        zone: string | null;
      };
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
    };
    /**
     * @description Every plan. `self-hosted` is the operator's own: no limits, no credit, no bill.
     * @enum {string}
     */
    PlanName: "free" | "pro" | "team" | "enterprise" | "self-hosted";
    /** @description A machine that runs VMs, as operators see it. A host that is lost has the figures of its last answer. Of one that is `joining`, control knows nothing that an agent says: those fields are `null`. */
    Host: {
      /** @description The id of its agent. */
      id: string;
      state: components["schemas"]["HostState"];
      /** @description Where control reaches its agent. */
      url: string;
      version: string | null;
      qemuVersion: string | null;
      accelerator: ("kvm" | "tcg") | null;
      /** @description Why it does not use KVM; `null` under KVM. */
      acceleratorReason: string | null;
      isolation: ("jail" | "jail-nolimits" | "user" | "user-nolimits" | "process") | null;
      /** @description `null` if the agent's version does not report it. */
      cpuLimits: ("cgroup-v2" | "cgroup-v1" | "none") | null;
      network: {
        /** @enum {string} */
        kind: "tap" | "none";
        reason: string | null;
      } | null;
      capacity: {
        cpus: number | null;
        /** @description The most that all VMs together may use. */
        memoryMib: number | null;
        /** @description Of the file system of the data directory; `null` if it is unknown. */
        diskBytes: number | null;
      };
      used: {
        /** @description The most that the present VMs may use. */
        memoryMib: number | null;
        diskBytes: number | null;
      };
      /** @description `null` if it is unknown. */
      diskState: ("ok" | "low" | "refusing") | null;
      /** @description Sandboxes that users made, in any state but `failed`. */
      sandboxes: number;
      /** @description VMs of apps. */
      instances: number;
      /** @description VMs of databases. */
      databases: number;
      /** @description When an operator cordoned the host, also while it is lost; `null` if it may get new sandboxes. */
      cordonedAt: string | null;
      /** @description What operators say of the host. A workspace may require labels. */
      labels: {
        [key: string]: string;
      };
      /** @description The group of machines that fail together with this one, as operators name it. */
      zone: string | null;
      /** @description The databases of the host run only while control renews it. `null`: they need none. */
      lease: {
        /** @description Counts the leases of the host: another one begins after the end of the one before. */
        generation: number;
        /** @description Seconds from a renewal to the end. */
        seconds: number;
        /** @description When control renewed it last. */
        renewedAt: string;
        /** @description When control declared that it has ended, so that databases of the host may come up elsewhere; `null`: it has not. */
        endedAt: string | null;
      } | null;
      /** @description When a control process heard it last. It may be older by a quarter of `lost_after_seconds` while the host answers. */
      lastHeardAt: string | null;
      /** @description When the host joined; of an agent in the configuration of control, when it answered for the first time. */
      createdAt: string;
    };
    /**
     * @description `joining`: control has signed its certificate, and its agent has not answered yet. `ready`: the host answers, and gets new sandboxes. `cordoned`: an operator keeps new sandboxes away from it, and those it has go on. `draining`: they also move to other hosts. `lost`: no control process has heard it for `lost_after_seconds`, so it gets none. `foreign`: it obeys another cluster, so it gets none.
     * @enum {string}
     */
    HostState: "joining" | "ready" | "cordoned" | "draining" | "lost" | "foreign";
    /** @description Body of `POST /v1/admin/hosts/tokens`, which may be absent. */
    HostTokenBody: {
      /** @description A host that has joined. With the token it joins again, with its data, because control refuses its certificate. */
      hostId?: string | null;
    };
    /** @description Answer of `POST /v1/admin/hosts/tokens`. */
    HostToken: {
      /** @description For `bin/up --join`. Only this answer contains it. It lets one host join. */
      token: string;
      /** @description An hour after it was made. */
      expiresAt: string;
    };
    /** @description One host, as its own routes answer it. */
    HostDetail: {
      /** @description The id of its agent. */
      id: string;
      state: components["schemas"]["HostState"];
      /** @description Where control reaches its agent. */
      url: string;
      version: string | null;
      qemuVersion: string | null;
      accelerator: ("kvm" | "tcg") | null;
      /** @description Why it does not use KVM; `null` under KVM. */
      acceleratorReason: string | null;
      isolation: ("jail" | "jail-nolimits" | "user" | "user-nolimits" | "process") | null;
      /** @description `null` if the agent's version does not report it. */
      cpuLimits: ("cgroup-v2" | "cgroup-v1" | "none") | null;
      network: {
        /** @enum {string} */
        kind: "tap" | "none";
        reason: string | null;
      } | null;
      capacity: {
        cpus: number | null;
        /** @description The most that all VMs together may use. */
        memoryMib: number | null;
        /** @description Of the file system of the data directory; `null` if it is unknown. */
        diskBytes: number | null;
      };
      used: {
        /** @description The most that the present VMs may use. */
        memoryMib: number | null;
        diskBytes: number | null;
      };
      /** @description `null` if it is unknown. */
      diskState: ("ok" | "low" | "refusing") | null;
      /** @description Sandboxes that users made, in any state but `failed`. */
      sandboxes: number;
      /** @description VMs of apps. */
      instances: number;
      /** @description VMs of databases. */
      databases: number;
      /** @description When an operator cordoned the host, also while it is lost; `null` if it may get new sandboxes. */
      cordonedAt: string | null;
      /** @description What operators say of the host. A workspace may require labels. */
      labels: {
        [key: string]: string;
      };
      /** @description The group of machines that fail together with this one, as operators name it. */
      zone: string | null;
      /** @description The databases of the host run only while control renews it. `null`: they need none. */
      lease: {
        /** @description Counts the leases of the host: another one begins after the end of the one before. */
        generation: number;
        /** @description Seconds from a renewal to the end. */
        seconds: number;
        /** @description When control renewed it last. */
        renewedAt: string;
        /** @description When control declared that it has ended, so that databases of the host may come up elsewhere; `null`: it has not. */
        endedAt: string | null;
      } | null;
      /** @description When a control process heard it last. It may be older by a quarter of `lost_after_seconds` while the host answers. */
      lastHeardAt: string | null;
      /** @description When the host joined; of an agent in the configuration of control, when it answered for the first time. */
      createdAt: string;
      /** @description `null` if no operator drains it, or has drained it since it was last uncordoned. */
      drain: components["schemas"]["HostDrain"] | null;
    };
    /** @description How far control has moved the sandboxes, snapshots, templates and live versions of apps of a host to other hosts. */
    HostDrain: {
      begunAt: string;
      /** @description When everything that can move had been tried; `null` before. */
      endedAt: string | null;
      /** @description Sandboxes, snapshots, templates and apps that are still to be moved, with those that move now. */
      left: number;
      moving: number;
      moved: number;
      /** @description Sandboxes, snapshots, templates and apps that could not be moved. Draining again tries them again. */
      failed: number;
      /** @description How many objects stay on the host, with those that could not be moved. */
      staying: number;
      /** @description The first of them, at most MAX_STAYING_SHOWN. */
      stays: {
        /** @enum {string} */
        kind: "sandbox" | "app" | "database" | "volume" | "snapshot" | "template";
        /** @description Of a template and of a volume, its name. */
        id: string;
        workspaceId: string;
        reason: string;
      }[];
    };
    /** @description Body of `PATCH /v1/admin/hosts/{id}`. Absent fields stay as they are. */
    PatchHostBody: {
      /** @description Replace all labels of the host. */
      labels?: {
        [key: string]: string;
      } | null;
      /** @description `null`: the host is in no zone. */
      zone?: string | null;
    };
    /** @description Answer of `GET` and `POST /v1/admin/hosts/{id}/reconcile`. */
    HostReconciliation: {
      agentId: string;
      /**
       * @description The cluster that the host obeys: this one, another one, or none yet.
       * @enum {string}
       */
      cluster: "own" | "other" | "none";
      /** @description Number of objects that wait for confirmation. */
      count: number;
      /** @description The oldest of them, oldest first, at most MAX_WAITING_SHOWN. */
      waiting: {
        /** @enum {string} */
        action: "delete" | "forget";
        /** @enum {string} */
        kind: "sandbox" | "snapshot" | "volume" | "template";
        id: string;
        workspaceId: string;
        /**
         * Format: date-time
         * @description When control first noticed it.
         */
        since: string;
      }[];
    };
    /** @description Body of `POST /v1/admin/hosts/{id}/reconcile`. */
    ConfirmReconciliationBody: {
      /** @description The `count` of the GET. If the number has changed since, nothing is confirmed. */
      count: number;
      /** @description Moves a host of another cluster to this one. */
      takeOver?: boolean | null;
    };
    /** @description Answer of `GET /v1/admin/keys` and `POST /v1/admin/keys/rotate`. */
    KeysAnswer: {
      /** @description The version that seals new values. 0: the secret of the data directory itself, before the first rotation. */
      current: number;
      /** @description Oldest first. A key goes when no stored value names it. */
      keys: {
        version: number;
        /** @description RFC 3339, UTC, milliseconds. */
        createdAt: string;
        /** @description The key seals nothing before. */
        activeAt: string;
        /** @description No stored value names an older key. */
        isResealed: boolean;
      }[];
    };
    /** @description A job of control as operators see it (docs/jobs.md). */
    OperatedJob: {
      id: string;
      task: string;
      state: components["schemas"]["JobState"];
      /** @description The id of the row that the job is about; `null` if it is about none. */
      subject: string | null;
      /** @description RFC 3339, UTC, milliseconds: when it is due, or due again after a failure. */
      runAt: string;
      attempts: number;
      maxAttempts: number;
      /** @description Of the last attempt that failed. */
      error: string | null;
      createdAt: string;
    };
    /**
     * @description What a job of control does now. A `failed` job has no attempt left.
     * @enum {string}
     */
    JobState: "waiting" | "running" | "retrying" | "failed";
    /** @description One who operates the service. */
    Operator: {
      /** @description UUID. */
      id: string;
      name: string;
      /** @enum {string} */
      role: "viewer" | "operator" | "owner";
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
    };
    /** @description Body of `POST /v1/admin/operators`. */
    CreateOperatorBody: {
      name: string;
      /** @enum {string} */
      role: "viewer" | "operator" | "owner";
    };
    /** @description Body of `PATCH /v1/admin/operators/{id}`. Absent fields stay as they are. */
    PatchOperatorBody: {
      name?: string | null;
      role?: ("viewer" | "operator" | "owner") | null;
    };
    /** @description A key of an operator, without its secret. */
    OperatorKey: {
      /** @description `ofs_op_` and 8 characters, or `bootstrap`. Identifies the key, also to revoke it. */
      prefix: string;
      name: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description `null`: never. */
      expiresAt: string | null;
      /** @description Accurate to the minute; `null` before the first use. */
      lastUsedAt: string | null;
    };
    /** @description Body of `POST /v1/admin/operators/{id}/keys`. */
    CreateOperatorKeyBody: {
      name: string;
      /** @description 1 to 3650 days. Default: the key never expires. */
      expiresInDays?: number | null;
    };
    /** @description Answer of `POST /v1/admin/operators/{id}/keys`, the only one that contains the secret. */
    CreatedOperatorKey: {
      /** @description `ofs_op_` and 8 characters, or `bootstrap`. Identifies the key, also to revoke it. */
      prefix: string;
      name: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description `null`: never. */
      expiresAt: string | null;
      /** @description Accurate to the minute; `null` before the first use. */
      lastUsedAt: string | null;
      key: string;
    };
    /** @description Body of `POST /v1/me/ssh-keys`. */
    CreateSshKeyBody: {
      /** @description A line of a `.pub` file: Ed25519, ECDSA, RSA of 2048 bits or more, or a security key. */
      publicKey: string;
      /** @description Default: the comment of the line. */
      name?: string | null;
    };
    /** @description A key with which its user enters every sandbox of the user's workspaces. */
    SshKey: {
      id: string;
      name: string;
      /** @description For example `ssh-ed25519`. */
      type: string;
      /** @description As `ssh-keygen -l` prints it. */
      fingerprint: string;
      /** @description `TYPE BASE64`. */
      publicKey: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description Accurate to the minute; `null` before the first use. */
      lastUsedAt: string | null;
    };
    /** @description Where the SSH gateway is. Every edge of the service has the same host key. */
    SshGateway: {
      host: string;
      port: number;
      /** @description `TYPE BASE64`. */
      hostKey: string;
      /** @description As `ssh-keygen -l` prints it. */
      hostKeyFingerprint: string;
      /** @description A line for the file `known_hosts`. */
      knownHosts: string;
    };
    /** @description Body of `POST /v1/ssh-certificates`. */
    CreateSshCertificateBody: {
      /** @description A line of a `.pub` file. */
      publicKey: string;
    };
    /** @description A certificate of OpenSSH for the caller's key. It opens what the credential of the request opens. */
    SshCertificate: {
      /** @description The content of the file `KEY-cert.pub`, beside the private key. */
      certificate: string;
      /** @description RFC 3339. One hour after the request. */
      expiresAt: string;
      gateway: components["schemas"]["SshGateway"];
    };
    /** @description Body of `POST /v1/admin/orgs/{id}/plan`. */
    SetPlanBody: {
      /** @enum {string} */
      plan: "free" | "pro" | "team" | "enterprise" | "self-hosted";
    };
    /** @description Body of `POST /v1/admin/orgs/{id}/suspend`. */
    SuspendBody: {
      reason?: string | null;
    };
    /** @description Body of `POST /v1/admin/orgs/{id}/credit`. */
    GrantCreditBody: {
      /** @description US dollars for the current calendar month (UTC), in addition to the plan's credit. */
      creditUsd: number;
      reason: string;
    };
    /** @description Body of `POST /v1/admin/orgs/{id}/rate`: both fields, or neither to restore the configured rate. */
    SetRateBody: {
      burst?: number | null;
      perSecond?: number | null;
    };
    /** @description Body of `POST /v1/admin/orgs/{id}/placement`. Control places the workspace's new objects only on hosts that have all of this. An absent field requires nothing. */
    SetPlacementBody: {
      /** @description Labels that a host must have, all of them. */
      labels?: {
        [key: string]: string;
      } | null;
      /** @description The zone that a host must be in. */
      zone?: string | null;
    };
    /** @description Answer of `GET /v1/usage`. Usage of running sandboxes counts up to now. */
    Usage: {
      /** @description First day, `YYYY-MM-DD`. */
      from: string;
      /** @description First day excluded. */
      to: string;
      groupBy: components["schemas"]["UsageGrouping"];
      total: {
        /** @description Whole seconds. */
        runningSeconds: number;
        pausedSeconds: number;
        hibernatedSeconds: number;
        /** @description Running seconds times vCPUs. */
        cpuSeconds: number;
        /** @description Seconds during which volumes exceeded the plan's included storage. */
        storageSeconds: number;
        costUsd: number;
        /** @description The same in micro-dollars. */
        costMicroUsd: number;
      };
      groups: {
        key: string | null;
        /** @description Whole seconds. */
        runningSeconds: number;
        pausedSeconds: number;
        hibernatedSeconds: number;
        /** @description Running seconds times vCPUs. */
        cpuSeconds: number;
        /** @description Seconds during which volumes exceeded the plan's included storage. */
        storageSeconds: number;
        costUsd: number;
        /** @description The same in micro-dollars. */
        costMicroUsd: number;
      }[];
    };
    /**
     * @description How usage is grouped. `app` and `database` have an additional group with the key `null`, for all other usage.
     * @enum {string}
     */
    UsageGrouping: "sandbox" | "template" | "app" | "database" | "day";
    /** @description Answer of `GET /v1/usage/limits`. */
    Limits: {
      plan: components["schemas"]["PlanName"];
      /** @description The payment provider's word for the state of the subscription; `null` without one. */
      subscriptionStatus: string | null;
      limits: {
        name: components["schemas"]["LimitName"];
        /** @description Sandboxes at once count also while they are paused or hibernated; members also while they are invited. */
        used: number;
        /** @description `null`: the plan does not limit it. */
        max: number | null;
      }[];
    };
    /**
     * @description What a plan limits.
     * @enum {string}
     */
    LimitName: "sandboxes" | "cpu" | "memory_mib" | "creates_last_hour" | "cpu_seconds_month" | "usage_usd_month" | "credit_usd_month" | "volumes" | "volume_mib_included" | "webhooks" | "members";
    /** @description Answer of `GET /v1/statements/{month}`. */
    StatementOfMonth: {
      /** @description `YYYY-MM` (UTC). */
      month: string;
      /** @description True after the month's end. Only a reconnecting agent may still correct it. */
      isFinal: boolean;
      /** @description The plan at the end of the month, or now. */
      plan: string;
      /** @description Only if the plan changed within the month: its parts, by the plan that each day (UTC) began with. */
      plans?: {
        plan: string;
        /** @description The first day, `YYYY-MM-DD`. */
        from: string;
        usageUsd: number;
        /** @description Part of the usage that this plan pays for, without grants. */
        creditUsd: number;
      }[];
      /** @constant */
      currency: "usd";
      lines: {
        /** @enum {string} */
        item: "running" | "paused" | "hibernated" | "storage";
        seconds: number;
        cpuSeconds: number;
        costUsd: number;
      }[];
      usageUsd: number;
      /** @description Part of the usage that the plan and grants pay for. */
      creditUsd: number;
      totalUsd: number;
    };
    /** @description Body of `POST /v1/billing/checkout`. The return address comes from the configuration, never from the caller. */
    CheckoutBody: {
      plan: components["schemas"]["PaidPlan"];
    };
    /**
     * @description Plans that a workspace can subscribe to.
     * @enum {string}
     */
    PaidPlan: "pro" | "team";
    /** @description Answer of `POST /v1/billing/checkout` and `/portal`: the address of a page of the payment provider. */
    BillingLink: {
      url: string;
    };
    /** @description Answer of `POST /v1/billing/sync`. */
    BillingSync: {
      plan: string;
      /** @description The payment provider's own word; `null` without a subscription. */
      subscriptionStatus: string | null;
      /** @description US dollars of credit this month: the plan's and all grants. */
      creditUsd: number;
      /** @description US dollars of usage this month, up to now. */
      costUsdUsed: number;
      /** @description RFC 3339: the last synchronization with the payment provider. Without a provider, the current time. */
      syncedAt: string;
    };
    /** @description A template as the API shows it. */
    Template: {
      name: string;
      /** @description Path below the agents' images folder. */
      rootfsPath: string;
      /** @description Bytes that the image occupies on disk. */
      sizeBytes: number;
      cpu: number;
      memoryMb: number;
      meta: {
        [key: string]: unknown;
      };
      /** @description Shipped with the service: visible to all workspaces, and deletable by none. */
      isGlobal: boolean;
      /** @description When the workspace first had a template of this name. RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description When a build last replaced it, or an agent first reported another image of it. */
      updatedAt: string;
    };
    /** @description A build as the API shows it. */
    Build: {
      /** @description UUID. */
      id: string;
      /** @description Name of the template. */
      name: string;
      status: components["schemas"]["BuildStatus"];
      stage: components["schemas"]["BuildStage"];
      /** @description 0 to 100. */
      percent: number;
      /** @description Why it failed; begins with the stage. */
      error: string | null;
      /** @description RFC 3339, UTC, milliseconds, like all times here. */
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
      /** @description Size of the disk, MiB. */
      sizeMb: number;
      /** @description Bytes of the archive, or of the data captured from the sandbox. */
      bytes: number;
    };
    /**
     * @description `queued → running → baking → done`; `failed` can follow any of the first three.
     * @enum {string}
     */
    BuildStatus: "queued" | "running" | "baking" | "done" | "failed";
    /**
     * @description The stages of a build: read the archive, unpack it onto the disk, boot and run its commands, freeze the VM.
     * @enum {string}
     */
    BuildStage: "waiting" | "reading" | "unpacking" | "booting" | "freezing" | "done";
    /** @description Data of the `line` events of `GET …/builds/{id}/logs`. */
    BuildLogLine: {
      ts: string;
      stage: components["schemas"]["BuildStage"];
      percent: number;
      line: string;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/template` → 202 build: makes a template from the sandbox's present state. */
    SandboxTemplateBody: {
      /** @description Unique among the workspace's templates, and different from all global templates. */
      name: string;
      /** @description True: includes the memory, so that new sandboxes continue from this state. False (default): the disk only; it is booted anew. */
      memory?: boolean | null;
      /** @description Applies without `memory`, as in buildFields. Default: the command of the sandbox's own template. */
      startCmd?: string | null;
      readyCmd?: string | null;
      /** @description Replaces the workspace's template of that name when the build is done. */
      replace?: boolean | null;
    };
    /** @description Body of `POST /v1/volumes`. */
    CreateVolumeBody: {
      /** @description Unique in the workspace. */
      name: string;
      /** @description MiB, 1 to 65536. Default: 256, or the snapshot's size. */
      sizeMb?: number | null;
      /** @description Id of a volume snapshot to copy. */
      fromSnapshot?: string | null;
    };
    /** @description A volume as the API shows it. */
    Volume: {
      name: string;
      /** @description MiB. */
      sizeMb: number;
      /** @description The same in bytes. */
      sizeBytes: number;
      /** @description Bytes that it occupies on the agent's disk; `null` while the agent is unreachable. */
      usedBytes: number | null;
      /** @description The volume's host; it never changes. */
      agentId: string;
      /** @description The sandbox that has it attached; with several readers, the first. */
      attachedTo: string | null;
      /** @description All sandboxes that have it attached: one writer, or any number of readers. */
      attachments: {
        sandboxId: string;
        readOnly: boolean;
      }[];
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
    };
    /** @description Body of `PATCH /v1/volumes/{name}`: grows the volume, also while it is attached. */
    PatchVolumeBody: {
      sizeMb: number;
    };
    /** @description Body of `POST /v1/volumes/{name}/clone`. */
    CloneVolumeBody: {
      name: string;
    };
    /** @description An immutable copy of a volume. It survives the volume. */
    VolumeSnapshot: {
      /** @description UUID. */
      id: string;
      /** @description Name of the source volume. */
      volume: string;
      /** @description MiB. */
      sizeMb: number;
      /** @description The same in bytes. */
      sizeBytes: number;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
    };
    /** @description Body of `POST /v1/sandboxes`. */
    CreateSandboxBody: {
      /** @description Its name. May be absent with `from_snapshot`, and is then the snapshot's. */
      template: string | null;
      ttlSeconds?: number | null;
      /** @description Default: `delete`. Without effect while the sandbox is persistent. */
      onTimeout?: components["schemas"]["OnTimeout"] | null;
      /** @description Free-form tags: at most 64, keys of 256 and values of 4096 characters. */
      metadata?: {
        [key: string]: string;
      } | null;
      /** @description Id of the snapshot from which the sandbox starts. */
      fromSnapshot?: string | null;
      persistent?: boolean | null;
      idleTimeoutSeconds?: number | null;
      volumes?: {
        name: string;
        readOnly?: boolean | null;
      }[] | null;
      /** @description Set in every command's environment. Never returned by a read. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description `egress` defaults to `internet`, or to the snapshot's value. */
      network?: {
        egress?: components["schemas"]["Egress"] | null;
      } | null;
      /** @description Default: `public`, or the snapshot's value. */
      visibility?: components["schemas"]["Visibility"] | null;
      /** @description Accepted from older clients and ignored; the template sets it. */
      cpu?: number | null;
      /** @description Accepted from older clients and ignored; the template sets it. */
      memoryMb?: number | null;
    } | {
      /** @description Its name. May be absent with `from_snapshot`, and is then the snapshot's. */
      template?: string | null;
      ttlSeconds?: number | null;
      /** @description Default: `delete`. Without effect while the sandbox is persistent. */
      onTimeout?: components["schemas"]["OnTimeout"] | null;
      /** @description Free-form tags: at most 64, keys of 256 and values of 4096 characters. */
      metadata?: {
        [key: string]: string;
      } | null;
      /** @description Id of the snapshot from which the sandbox starts. */
      fromSnapshot: string | null;
      persistent?: boolean | null;
      idleTimeoutSeconds?: number | null;
      volumes?: {
        name: string;
        readOnly?: boolean | null;
      }[] | null;
      /** @description Set in every command's environment. Never returned by a read. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description `egress` defaults to `internet`, or to the snapshot's value. */
      network?: {
        egress?: components["schemas"]["Egress"] | null;
      } | null;
      /** @description Default: `public`, or the snapshot's value. */
      visibility?: components["schemas"]["Visibility"] | null;
      /** @description Accepted from older clients and ignored; the template sets it. */
      cpu?: number | null;
      /** @description Accepted from older clients and ignored; the template sets it. */
      memoryMb?: number | null;
    };
    /**
     * @description What happens to a sandbox at `expires_at`. `pause` hibernates it.
     * @enum {string}
     */
    OnTimeout: "delete" | "pause";
    /**
     * @description Outbound network: `internet` allows all public addresses, `none` blocks everything.
     * @enum {string}
     */
    Egress: "internet" | "none";
    /**
     * @description Who may open the ports of a sandbox, or an app: everybody who knows the address, or only who has a link or a session.
     * @enum {string}
     */
    Visibility: "public" | "private";
    /** @description A sandbox as the API shows it. Missing values are `null`. */
    Sandbox: {
      /** @description UUID; also the credential for preview addresses while `visibility` is `public`. */
      id: string;
      template: string;
      status: components["schemas"]["SandboxStatus"];
      /** @description Milliseconds from the agent accepting the request to the guest's first response; `null` until then. */
      bootMs: number | null;
      bootMode: components["schemas"]["BootMode"] | null;
      guestIp: string | null;
      metadata: {
        [key: string]: string;
      };
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description vCPUs, from the template. */
      cpu: number;
      /** @description MiB, from the template. */
      memoryMb: number;
      persistent: boolean;
      /** @description `null` when persistent, and while a sandbox with `on_timeout: "pause"` is hibernated. */
      expiresAt: string | null;
      onTimeout: components["schemas"]["OnTimeout"];
      fromSnapshot: string | null;
      parentId: string | null;
      forkTreeId: string | null;
      volumes: {
        name: string;
        readOnly: boolean;
      }[];
      managedBy: ("app" | "database") | null;
      network: {
        egress: components["schemas"]["Egress"];
      };
      visibility: components["schemas"]["Visibility"];
    };
    /**
     * @description `creating` until the guest responds. `failed` is final; the sandbox can only be deleted.
     * @enum {string}
     */
    SandboxStatus: "creating" | "running" | "paused" | "hibernated" | "failed";
    /**
     * @description How the VM started: the kernel booted, or the agent restored a snapshot, took a VM from the warm pool, or forked one.
     * @enum {string}
     */
    BootMode: "cold" | "snapshot" | "pool" | "fork";
    /** @description Answer of `GET /v1/sandboxes/{id}/lineage`. Deleted nodes stay for as long as events do. */
    Lineage: {
      /** @description The oldest ancestor. It is none of the nodes if it was deleted too long ago. */
      rootId: string;
      /** @description The ancestors of the sandbox first, then existing nodes before deleted ones, older before younger ones. */
      nodes: {
        /** @description UUID. */
        id: string;
        /** @enum {string} */
        kind: "sandbox" | "snapshot";
        /**
         * @description How it came of its parent. A snapshot is always a `snapshot_of` its parent.
         * @enum {string}
         */
        link: "template" | "fork" | "from_snapshot" | "snapshot_of";
        /** @description The node that it came of, also if that is not known any more. `null`: made from the template. */
        parentId: string | null;
        /** @description `metadata.name` of a sandbox, the name of a snapshot. */
        name: string | null;
        template: string;
        /**
         * @description Of a sandbox its status, of a snapshot `creating` or `ready`.
         * @enum {string}
         */
        status: "creating" | "running" | "paused" | "hibernated" | "failed" | "ready" | "deleted";
        /** @description vCPUs. */
        cpu: number;
        /** @description MiB that the sandbox has. A snapshot has none itself: whatever starts from it gets as much. */
        memoryMb: number;
        /** @description Bytes on disk that only this snapshot uses; `null` for sandboxes. */
        sizeBytes: number | null;
        /** @description The fork tree in which the sandbox was made. */
        forkTreeId: string | null;
        /** @description Whether the sandbox won its fork tree. Its `parent_id` stays the one that it came of. */
        promoted: boolean;
        /** @description RFC 3339, UTC, milliseconds. */
        createdAt: string;
        /** @description RFC 3339, UTC, milliseconds. `null` while it exists. */
        deletedAt: string | null;
      }[];
      /** @description Whether the tree has more than 2,000 nodes. Then the last ones are missing. */
      truncated: boolean;
    };
    /** @description Body of `PATCH /v1/sandboxes/{id}`. */
    PatchSandboxBody: {
      visibility: components["schemas"]["Visibility"];
    };
    ExecBody: {
      /** @description Runs under `sh -c`, in its own process group. Either this or `argv` is required. */
      cmd: string | null;
      /** @description A program and its arguments, which run without a shell. The program is looked up in `PATH`. */
      argv?: string[] | null;
      /** @description Seconds, 1 to 86400; no timeout by default. At the timeout the agent kills the process group and answers 504. A background command then ends by SIGKILL. */
      timeoutSeconds?: number | null;
      /** @description The name that older clients use for `timeout_seconds`. */
      timeout?: number | null;
      /** @description Absolute path. Default: the user's home. */
      cwd?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      /** @description User name or numeric id. Default: `root`. */
      user?: string | null;
      stdin?: string | null;
      /** @description Of `stdin`, and of the output in the answer. */
      encoding?: ("utf8" | "base64") | null;
      /** @description If true, the command survives the connection (`…/execs/{exec_id}`). `POST exec` then answers 201 at once, and the stream of `POST exec/stream` begins with `started`. */
      background?: boolean | null;
      /** @description Of a background command: standard input stays open after `stdin` (`…/execs/{exec_id}/stdin`). */
      stdinOpen?: boolean | null;
      /** @description Of a background command: it waits while a client that follows its output has not read what would be dropped. It also waits for its first client, for at most 10 s. Without a client the oldest output is dropped. */
      backpressure?: boolean | null;
      /** @description Of a background command: a terminal of this size is its input and output. Its output is then all stdout. */
      pty?: {
        rows: number;
        cols: number;
      } | null;
    } | {
      /** @description Runs under `sh -c`, in its own process group. Either this or `argv` is required. */
      cmd?: string | null;
      /** @description A program and its arguments, which run without a shell. The program is looked up in `PATH`. */
      argv: string[] | null;
      /** @description Seconds, 1 to 86400; no timeout by default. At the timeout the agent kills the process group and answers 504. A background command then ends by SIGKILL. */
      timeoutSeconds?: number | null;
      /** @description The name that older clients use for `timeout_seconds`. */
      timeout?: number | null;
      /** @description Absolute path. Default: the user's home. */
      cwd?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      /** @description User name or numeric id. Default: `root`. */
      user?: string | null;
      stdin?: string | null;
      /** @description Of `stdin`, and of the output in the answer. */
      encoding?: ("utf8" | "base64") | null;
      /** @description If true, the command survives the connection (`…/execs/{exec_id}`). `POST exec` then answers 201 at once, and the stream of `POST exec/stream` begins with `started`. */
      background?: boolean | null;
      /** @description Of a background command: standard input stays open after `stdin` (`…/execs/{exec_id}/stdin`). */
      stdinOpen?: boolean | null;
      /** @description Of a background command: it waits while a client that follows its output has not read what would be dropped. It also waits for its first client, for at most 10 s. Without a client the oldest output is dropped. */
      backpressure?: boolean | null;
      /** @description Of a background command: a terminal of this size is its input and output. Its output is then all stdout. */
      pty?: {
        rows: number;
        cols: number;
      } | null;
    };
    /** @description Answer of `POST /v1/sandboxes/{id}/exec`. */
    ExecResult: {
      /** @description In the requested encoding. Under `utf8`, invalid bytes are replaced by U+FFFD. */
      stdout: string;
      stderr: string;
      /** @description 128 + signal if a signal ended the command. */
      exitCode: number;
      durationMs: number;
      /**
       * @description Present if a stream exceeded MAX_OUTPUT_BYTES.
       * @constant
       */
      truncated?: true;
    };
    /** @description Answer of `POST exec` with `background`: the command has started. */
    BackgroundStarted: {
      /** @description Process id inside the sandbox, and id of its process group. */
      pid: number;
      execId: string;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/hibernate`. */
    HibernateBody: {
      /** @description `false`: only the disk is kept. Processes end, and the next wake boots from the disk. Default: `true`. */
      memory?: boolean | null;
    };
    /** @description Answer of a wake. */
    WokenSandbox: {
      /** @description UUID; also the credential for preview addresses while `visibility` is `public`. */
      id: string;
      template: string;
      status: components["schemas"]["SandboxStatus"];
      /** @description Milliseconds from the agent accepting the request to the guest's first response; `null` until then. */
      bootMs: number | null;
      bootMode: components["schemas"]["BootMode"] | null;
      guestIp: string | null;
      metadata: {
        [key: string]: string;
      };
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description vCPUs, from the template. */
      cpu: number;
      /** @description MiB, from the template. */
      memoryMb: number;
      persistent: boolean;
      /** @description `null` when persistent, and while a sandbox with `on_timeout: "pause"` is hibernated. */
      expiresAt: string | null;
      onTimeout: components["schemas"]["OnTimeout"];
      fromSnapshot: string | null;
      parentId: string | null;
      forkTreeId: string | null;
      volumes: {
        name: string;
        readOnly: boolean;
      }[];
      managedBy: ("app" | "database") | null;
      network: {
        egress: components["schemas"]["Egress"];
      };
      visibility: components["schemas"]["Visibility"];
      /**
       * @description Present if the service booted the sandbox from its disk, because it could not restore the memory. The memory is lost.
       * @constant
       */
      cold?: true;
    };
    /** @description Answer of `GET` and `PATCH /v1/sandboxes/{id}/lifecycle`: the sandbox's lifetime. */
    Lifecycle: {
      /** @description Seconds as last set; ignored while persistent. `expires_at` gives the resulting time. */
      ttlSeconds: number;
      persistent: boolean;
      /** @description Whole seconds since the last activity in the sandbox; 0 during activity, and while the sandbox cannot have any. */
      idleSeconds: number;
      /** @description Seconds without activity after which a persistent sandbox hibernates. */
      idleTimeoutSeconds: number;
      /** @description RFC 3339, UTC, milliseconds; `null` when persistent, and while a sandbox that pauses is hibernated. */
      expiresAt: string | null;
      /** @description What happens at `expires_at`. */
      onTimeout: components["schemas"]["OnTimeout"];
    };
    /** @description Body of `PATCH /v1/sandboxes/{id}/lifecycle`. Absent and `null` fields keep their values. `ttl_seconds` counts from now. */
    LifecyclePatch: {
      ttlSeconds?: number | null;
      /** @description Without effect while the sandbox is persistent. */
      onTimeout?: components["schemas"]["OnTimeout"] | null;
      persistent?: boolean | null;
      idleTimeoutSeconds?: number | null;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/fork`. */
    ForkBody: {
      /** @description Replaces the parent's metadata. Default: a copy of it. */
      metadata?: {
        [key: string]: string;
      } | null;
    };
    /** @description Answer of `POST /v1/sandboxes/{id}/fork`: the child, and the fields of a fork tree. */
    Fork: {
      /** @description UUID; also the credential for preview addresses while `visibility` is `public`. */
      id: string;
      template: string;
      status: components["schemas"]["SandboxStatus"];
      /** @description Milliseconds from the agent accepting the request to the guest's first response; `null` until then. */
      bootMs: number | null;
      bootMode: components["schemas"]["BootMode"] | null;
      guestIp: string | null;
      metadata: {
        [key: string]: string;
      };
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description vCPUs, from the template. */
      cpu: number;
      /** @description MiB, from the template. */
      memoryMb: number;
      persistent: boolean;
      /** @description `null` when persistent, and while a sandbox with `on_timeout: "pause"` is hibernated. */
      expiresAt: string | null;
      onTimeout: components["schemas"]["OnTimeout"];
      fromSnapshot: string | null;
      parentId: string | null;
      forkTreeId: string | null;
      volumes: {
        name: string;
        readOnly: boolean;
      }[];
      managedBy: ("app" | "database") | null;
      network: {
        egress: components["schemas"]["Egress"];
      };
      visibility: components["schemas"]["Visibility"];
      snapshotId: string;
      children: components["schemas"]["Sandbox"][];
      warnings: string[];
    };
    /** @description Body of `POST /v1/sandboxes/{id}/fork-tree`. The service adds `fork_tree_id` and `fork_index` to each child's metadata. */
    ForkTreeBody: {
      /** @description Replaces the parent's metadata. Default: a copy of it. */
      metadata?: {
        [key: string]: string;
      } | null;
      count?: number | null;
    };
    /** @description Answer of `POST /v1/sandboxes/{id}/fork-tree`. The request fails only if no child reaches `running`. */
    ForkTree: {
      treeId: string;
      parentId: string;
      snapshotId: string;
      /** @description Ordered by `fork_index`. */
      children: components["schemas"]["Sandbox"][];
      /** @description Children that failed and left nothing behind. */
      errors: {
        index: number;
        error: string;
      }[];
      warnings: string[];
    };
    /** @description Body of `POST /v1/sandboxes/{id}/promote`. */
    PromoteBody: {
      /** @description 409 if it is not the sandbox's own tree. */
      treeId?: string | null;
      /** @description Whether to delete the other children of the tree; default true. Children that were promoted before are not deleted. */
      cleanupSiblings?: boolean | null;
    };
    /** @description Answer of `POST /v1/sandboxes/{id}/promote`. */
    Promotion: {
      /** @description The promoted sandbox's id. */
      winner: string;
      treeId: string;
      /** @description Ids of the deleted siblings. */
      deleted: string[];
      /** @description Reason by id, for each sibling that still exists. The service retries the deletion. */
      failures: {
        [key: string]: string;
      };
    };
    /** @description Body of `POST /v1/sandboxes/{id}/snapshots`. */
    SnapshotBody: {
      /** @description A label of 1 to 128 characters. Several snapshots may have the same. */
      name?: string | null;
    };
    /** @description The memory, devices and disk of one sandbox at one instant. It survives the sandbox. */
    Snapshot: {
      /** @description UUID. */
      id: string;
      /** @description As given when it was taken; `null` without. */
      name: string | null;
      /** @description The source sandbox; it may be deleted. */
      sandboxId: string;
      /** @description The template of the source sandbox, and of every sandbox created from this snapshot. */
      template: string;
      /** @description vCPUs. */
      cpu: number;
      /** @description MiB. */
      memoryMb: number;
      /** @description Bytes on disk that only this snapshot uses. */
      sizeBytes: number;
      /**
       * @description `fork`: made for the children of a fork, and deleted with the last of them.
       * @enum {string}
       */
      origin: "user" | "fork";
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
    };
    /** @description A TCP port of a sandbox, as `GET /v1/sandboxes/{id}/ports` shows it. */
    Port: {
      port: number;
      /** @description The user's name for it; `null` if there is none. */
      label: string | null;
      /** @description Whether a process in the sandbox accepts connections now; `false` unless the sandbox runs. */
      listening: boolean;
      /**
       * @description `user`: named by POST. `detected`: not named, but a process listens on it.
       * @enum {string}
       */
      source: "user" | "detected";
      /** @description Address for a browser. */
      url: string;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/ports`. */
    PortBody: {
      port: number;
      label?: string | null;
    };
    /** @description Body of `DELETE /v1/sandboxes/{id}/ports`, unless the port is in the path or the query. */
    PortToRemove: {
      port: number;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/ports/{port}/links` and `POST /v1/apps/{id}/links`. */
    PreviewLinkBody: {
      /** @description Default: a day. At most a year. */
      expiresInSeconds?: number | null;
      /** @description For the owner: whom the link is for. */
      label?: string | null;
    };
    /** @description A new link. No other answer contains its token. */
    CreatedPreviewLink: {
      id: string;
      /** @description The port of the sandbox; `null` for a link to an app. */
      port: number | null;
      label: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      expiresAt: string;
      /** @description For a browser. Whoever opens it may use the preview until the link expires or is deleted. */
      url: string;
      /** @description For a program: the value of the header `X-Offshoot-Preview-Token`. */
      token: string;
    };
    /** @description A link that opens a private preview, without its token. */
    PreviewLink: {
      id: string;
      /** @description The port of the sandbox; `null` for a link to an app. */
      port: number | null;
      label: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      expiresAt: string;
    };
    /** @description Answer of `PUT fs`. */
    FileWritten: {
      path: string;
      /** @description Percent-encoded path; present only if the path is not valid UTF-8. */
      pathEncoded?: string;
      bytes: number;
    };
    /** @description Answer of `GET fs/dir`. Entries are sorted by the bytes of their paths. */
    FolderListing: {
      path: string;
      /** @description Percent-encoded path; present only if the path is not valid UTF-8. */
      pathEncoded?: string;
      entries: components["schemas"]["FileEntry"][];
    };
    /** @description One directory entry. Symbolic links are not followed. */
    FileEntry: {
      /** @description Last segment of the path; `/` for the root. */
      name: string;
      path: string;
      /** @enum {string} */
      type: "file" | "dir" | "symlink" | "other";
      isDir: boolean;
      /** @description Bytes. */
      size: number;
      /** @description Permission bits in octal, four digits. */
      mode: string;
      /** @description Unix time in seconds. */
      mtime: number;
      /** @description Unix time in milliseconds. */
      mtimeMs: number;
      /** @description Owner and group. 65534 if the user may not read them. */
      uid: number;
      gid: number;
      /** @description Name of the owner in the sandbox's `/etc/passwd`. The number as text if it has none. */
      user: string;
      /** @description Name of the group in the sandbox's `/etc/group`. The number as text if it has none. */
      group: string;
      /** @description Content of a symbolic link; absent for other types. */
      target?: string;
      /** @description Absolute path of what a symbolic link leads to, through all links; absent if the user cannot reach it. */
      targetPath?: string;
      /**
       * @description Type of what a symbolic link leads to; absent if the user cannot reach it.
       * @enum {string}
       */
      targetType?: "file" | "dir" | "symlink" | "other";
      /** @description `mode` of what a symbolic link leads to; absent if the user cannot reach it. */
      targetMode?: string;
      /** @description Percent-encoded path; present only if the path is not valid UTF-8. */
      pathEncoded?: string;
      /** @description Percent-encoded target; present only if the target is not valid UTF-8. */
      targetEncoded?: string;
      /** @description Percent-encoded target path; present only if that path is not valid UTF-8. */
      targetPathEncoded?: string;
    };
    /** @description Answer of `PUT fs/archive`: the number of unpacked entries and bytes. */
    ArchiveUnpacked: {
      path: string;
      /** @description Percent-encoded path; present only if the path is not valid UTF-8. */
      pathEncoded?: string;
      entries: number;
      bytes: number;
    };
    /** @description `data` of the events of `GET fs/watch`: `created`, `modified`, `deleted`, and `moved` with the new path in `to`. `overflow` carries none of it: changes were lost, and the client must list the folder again. `error` ends the stream. */
    FileChange: {
      path: string;
      isDir: boolean;
      to?: string;
      pathEncoded?: string;
      toEncoded?: string;
    } | {
      error: string;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/code`. */
    CodeBody: {
      /** @description Runs as if it were typed into an interpreter: variables stay, and the value of the last expression is a result. */
      code: string;
      /** @description Runs the code in the default context of this language. Default: `python`. Excludes `context_id`. */
      language?: ("python" | "javascript" | "typescript" | "bash") | null;
      /** @description Runs the code in this context. */
      contextId?: string | null;
      /** @description Variables of this execution only. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description Seconds, 1 to 86400, with the time in the queue of the context; no timeout by default. At the timeout the agent interrupts the code and sends the event `error`. */
      timeoutSeconds?: number | null;
    };
    /** @description `data` of each event of `POST code`. `stdout` and `stderr` carry `chunk`, `result` a result, `error` an exception. `end` is the last event. An event `error` with the field `error` ends the stream too: the execution was lost or timed out. */
    CodeEvent: {
      chunk: string;
    } | components["schemas"]["CodeResult"] | components["schemas"]["CodeError"] | {
      /** @description Executions of the context since its process started, with this one. */
      executionCount: number;
      durationMs: number;
    } | {
      error: string;
    };
    /** @description One result: its representations by kind. Binary ones are base64. */
    CodeResult: {
      /** @description True for the value of the last expression, false for what the code has displayed. */
      isMainResult: boolean;
      text?: string;
      html?: string;
      markdown?: string;
      svg?: string;
      png?: string;
      jpeg?: string;
      pdf?: string;
      latex?: string;
      json?: unknown;
      javascript?: string;
      /** @description The columns of a pandas table. */
      data?: {
        [key: string]: unknown;
      };
      /** @description The content of a simple Matplotlib chart. */
      chart?: {
        [key: string]: unknown;
      };
      /** @description Representations of other MIME types. */
      extra?: {
        [key: string]: unknown;
      };
    };
    /** @description An exception that the code did not catch. `end` follows. */
    CodeError: {
      /** @description Type of the exception, or `KernelDied`, `KernelRestarted`, `Interrupted`, `ExitCode`. */
      name: string;
      value: string;
      traceback: string;
    };
    /** @description A context: a process that keeps its state from one execution to the next. */
    CodeContext: {
      /** @description The name of the language for its default context. */
      id: string;
      /** @enum {string} */
      language: "python" | "javascript" | "typescript" | "bash";
      cwd: string;
    };
    /** @description Body of `POST /v1/sandboxes/{id}/code/contexts`. */
    NewCodeContext: {
      /** @description Default: `python`. */
      language?: ("python" | "javascript" | "typescript" | "bash") | null;
      /** @description Absolute path of a folder. Default: the user's home. */
      cwd?: string | null;
    };
    /** @description `data` of each event of `POST exec/stream`. `stdout` and `stderr` carry `chunk`; `exit` or `error` ends the stream. */
    ExecEvent: {
      pid: number;
      execId: string;
    } | {
      chunk: string;
    } | {
      exitCode: number;
      durationMs: number;
    } | {
      error: string;
    };
    /** @description One change of one sandbox. */
    Event: {
      /** @description RFC 3339, UTC, milliseconds. */
      ts: string;
      sandboxId: string;
      agentId: string;
      /** @enum {string} */
      type: "sandbox.running" | "sandbox.ssh_ready" | "sandbox.paused" | "sandbox.resumed" | "sandbox.hibernated" | "sandbox.woken" | "sandbox.deleted" | "sandbox.forked" | "sandbox.warmforked" | "fork.staged" | "fork.completed" | "fork.child_failed" | "fork_tree.completed" | "fork_tree.promoted" | "warmfork.staged" | "vm.died" | "recover.orphaned" | "recover.unmanaged" | "sandbox.port_opened" | "sandbox.port_closed" | "sandbox.visibility_changed" | "sandbox.timeout_failed" | "events.dropped";
      /** @enum {string} */
      code: "ok" | "error" | "warn";
      message: string;
      /** @description Keys depend on the type, and may grow. */
      metadata: {
        [key: string]: unknown;
      };
    };
    /** @description One line of a sandbox's log. */
    LogLine: {
      /** @description When the line reached the agent: RFC 3339, UTC, milliseconds. */
      ts: string;
      stream: components["schemas"]["LogStream"];
      /** @description Without its line ending; invalid UTF-8 is replaced by U+FFFD. */
      line: string;
      /** @description `console`, `exec`, `exec:EXEC_ID` for a kept command, or `offshoot` for remarks of the service about the log itself. */
      source: string;
    };
    /**
     * @description Output stream of a command. The console counts as `stdout`.
     * @enum {string}
     */
    LogStream: "stdout" | "stderr";
    /** @description Answer of `GET /v1/sandboxes/{id}/metrics`. */
    SandboxMetrics: {
      /** @description Sampled for this answer, at most one second old. For a sandbox without a VM: the last known values, and no host memory. */
      now: {
        /** @description Time of the sample: RFC 3339, UTC, milliseconds. */
        ts: string;
        /** @description Counter: CPU time of the QEMU process on the host, including all vCPUs and device emulation. */
        cpuSeconds: number;
        /** @description Memory used in the guest (total less available), as the guest reports it; at most the sandbox's memory. `null`: the agent did not ask the guest in this interval. It asks only when a client reads `now`. */
        memoryGuestUsedBytes: number | null;
        /** @description Host memory that the VM shares with no other VM; 0 without a VM. */
        memoryHostPrivateBytes: number;
        /** @description Host disk space of the layers above the template's image: the guest's own writes, without volumes. */
        diskBytes: number;
        /** @description Counter: bytes to the guest. `null` if the guests of the host have no network interface that it could count. */
        networkInBytes: number | null;
        /** @description Counter: bytes from the guest, including packets that the packet filter dropped. */
        networkOutBytes: number | null;
        /** @description When the guest last reported its memory: RFC 3339; `null`: never. May be old if the guest is paused or does not respond. */
        memoryGuestUsedTs: string | null;
      };
      /** @description The requested step. */
      stepSeconds: number;
      /** @description The last sample of each interval of `step_seconds`, oldest first. Intervals without a sample are left out. */
      points: components["schemas"]["MetricsPoint"][];
    };
    /** @description One sample. Counters (`cpu_seconds`, `network_…`) only grow, also across pauses, hibernations and agent restarts. The other fields are gauges. */
    MetricsPoint: {
      /** @description Time of the sample: RFC 3339, UTC, milliseconds. */
      ts: string;
      /** @description Counter: CPU time of the QEMU process on the host, including all vCPUs and device emulation. */
      cpuSeconds: number;
      /** @description Memory used in the guest (total less available), as the guest reports it; at most the sandbox's memory. `null`: the agent did not ask the guest in this interval. It asks only when a client reads `now`. */
      memoryGuestUsedBytes: number | null;
      /** @description Host memory that the VM shares with no other VM; 0 without a VM. */
      memoryHostPrivateBytes: number;
      /** @description Host disk space of the layers above the template's image: the guest's own writes, without volumes. */
      diskBytes: number;
      /** @description Counter: bytes to the guest. `null` if the guests of the host have no network interface that it could count. */
      networkInBytes: number | null;
      /** @description Counter: bytes from the guest, including packets that the packet filter dropped. */
      networkOutBytes: number | null;
    };
    /** @description A background command. It survives disconnects and restarts of every service. A sandbox keeps at most 1024, ended ones included. A new one replaces the one that ended first. */
    BackgroundExec: {
      execId: string;
      pid: number;
      /** @description At most the first SHOWN_CMD_BYTES bytes. Of `argv`: its entries, quoted for a shell. */
      cmd: string;
      /** @description Whether it has a terminal (`pty`). */
      isPty: boolean;
      /** @enum {string} */
      status: "running" | "exited";
      /** @description 128 + signal if a signal ended it; `null` while it runs. */
      exitCode: number | null;
      /** @description RFC 3339, by the sandbox's clock. */
      startedAt: string;
      endedAt: string | null;
      /** @description When the agent kills the process group (`timeout_seconds`), by the agent's clock; `null` without a timeout. */
      timeoutAt: string | null;
      /** @description Bytes that the command has written to both streams. Offsets count these bytes. */
      outputBytes: number;
      /** @description Offset of the oldest byte kept. The guest keeps the last 1 MiB, less if all commands have 64 MiB. */
      oldestOffset: number;
    };
    /** @description Body of `POST …/execs/{exec_id}/signal`. */
    SignalBody: {
      signal: components["schemas"]["SignalName"];
    };
    /**
     * @description One of SIGNALS; the refusal lists all of them.
     * @enum {string}
     */
    SignalName: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGABRT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGPIPE" | "SIGALRM" | "SIGTERM" | "SIGCHLD" | "SIGCONT" | "SIGSTOP" | "SIGTSTP" | "SIGTTIN" | "SIGTTOU" | "SIGWINCH";
    /** @description Body of `POST …/execs/{exec_id}/stdin`. `eof` closes the standard input after `stdin`. */
    StdinBody: {
      stdin: string | null;
      encoding?: ("utf8" | "base64") | null;
      eof?: boolean | null;
    } | {
      stdin?: string | null;
      encoding?: ("utf8" | "base64") | null;
      eof: boolean | null;
    };
    /** @description Body of `POST …/execs/{exec_id}/resize`. */
    ResizeBody: {
      rows: number;
      cols: number;
    };
    /** @description One change of a sandbox, a template build, a deployment or a database of a workspace. */
    WorkspaceEvent: {
      /** @description Position in the workspace's events in the order of their arrival. Clients compare ids only for equality. */
      id: string;
      /** @description When it happened: RFC 3339, UTC, milliseconds. An agent that was away reports older events late. */
      ts: string;
      /** @enum {string} */
      type: "sandbox.running" | "sandbox.ssh_ready" | "sandbox.paused" | "sandbox.resumed" | "sandbox.hibernated" | "sandbox.woken" | "sandbox.deleted" | "sandbox.forked" | "sandbox.warmforked" | "fork.staged" | "fork.completed" | "fork.child_failed" | "fork_tree.completed" | "fork_tree.promoted" | "warmfork.staged" | "vm.died" | "recover.orphaned" | "recover.unmanaged" | "sandbox.port_opened" | "sandbox.port_closed" | "sandbox.visibility_changed" | "sandbox.timeout_failed" | "build.started" | "build.succeeded" | "build.failed" | "deploy.queued" | "deploy.building" | "deploy.deploying" | "deploy.live" | "deploy.failed" | "deploy.superseded" | "database.created" | "database.ready" | "database.deleted" | "database.backup_created" | "database.backup_verified" | "database.backup_failed";
      /** @enum {string} */
      code: "ok" | "error" | "warn";
      message: string;
      /** @description The id of a sandbox, build, deployment or database. */
      object: {
        kind: components["schemas"]["EventObjectKind"];
        id: string;
      };
      /** @description The sandbox of an event about one; `null` for others. */
      sandboxId: string | null;
      /** @description The agent that reported the event; `null` if control did. */
      agentId: string | null;
      /** @description Keys depend on the type, and may grow. */
      metadata: {
        [key: string]: unknown;
      };
    };
    /**
     * @description What an event of a workspace is about. `deploy`: a deployment of an app.
     * @enum {string}
     */
    EventObjectKind: "sandbox" | "build" | "deploy" | "database";
    /** @description Body of `POST /v1/databases`. */
    CreateDatabaseBody: {
      /** @description For display; need not be unique. */
      label?: string | null;
      /** @description Default `1g`. */
      size?: ("1g" | "4g" | "16g") | null;
    };
    /** @description A database read by its id, with its credentials. Answer of `POST /v1/databases` and `GET /v1/databases/{id}`. */
    Database: {
      /** @description UUID. */
      id: string;
      label: string | null;
      /** @enum {string} */
      size: "1g" | "4g" | "16g";
      status: components["schemas"]["DatabaseStatus"];
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description Id of the database that this one was branched or restored from, which may be deleted since. */
      parentId: string | null;
      /** @description `postgresql://…?sslmode=require`, with the password. */
      connectionUrl: string;
      /** @description Base address of the SQL-over-HTTP broker. */
      brokerUrl: string;
      /** @description `ofs_pg_…`. Grants access to the broker of this database only. */
      brokerToken: string;
      host: string;
      port: number;
      database: string;
      username: string;
      password: string;
      /** @description vCPUs of the VM: 8 if the host's accelerator allows it. */
      cpu: number;
      memoryMb: number;
      /** @description MiB of its file system. */
      diskMb: number;
      idleTimeoutSeconds: number;
      alwaysOn: boolean;
      /** @description RFC 3339: when it came back on another host after its own was lost; `null`: never. */
      recoveredAt: string | null;
      /** @description RFC 3339: commits after that time may have been lost with the host; `null` with `recovered_at`. */
      recoveredUntil: string | null;
    };
    /**
     * @description `provisioning` until PostgreSQL accepts connections. A `hibernated` database wakes at the next connection.
     * @enum {string}
     */
    DatabaseStatus: "provisioning" | "running" | "hibernated" | "failed";
    /** @description A database in a list, without credentials. */
    DatabaseSummary: {
      /** @description UUID. */
      id: string;
      label: string | null;
      /** @enum {string} */
      size: "1g" | "4g" | "16g";
      status: components["schemas"]["DatabaseStatus"];
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /** @description Id of the database that this one was branched or restored from, which may be deleted since. */
      parentId: string | null;
    };
    /** @description The credentials and addresses of a database. */
    DatabaseConnection: {
      /** @description `postgresql://…?sslmode=require`, with the password. */
      connectionUrl: string;
      /** @description Base address of the SQL-over-HTTP broker. */
      brokerUrl: string;
      /** @description `ofs_pg_…`. Grants access to the broker of this database only. */
      brokerToken: string;
    };
    /** @description Body of `PATCH /v1/databases/{id}`. */
    PatchDatabaseBody: {
      label?: string | null;
      /** @description Seconds without a connection before it hibernates: 60 to 2678400, default 300. */
      idleTimeoutSeconds?: number | null;
      /** @description If true, the database never hibernates. */
      alwaysOn?: boolean | null;
      /** @description MiB of its file system, 8192 to 65536. It can only grow. */
      diskMb?: number | null;
    };
    /** @description Body of `POST /v1/databases/{id}/branch`. */
    BranchDatabaseBody: {
      label?: string | null;
      /** @description Id of a backup of this database. Default: its present state. */
      at?: string | null;
    };
    /** @description Body of `POST /v1/databases/{id}/restore`. */
    RestoreDatabaseBody: {
      label?: string | null;
      /**
       * Format: date-time
       * @description Restore to this moment: RFC 3339 with a time zone, precise to the millisecond. Not before the oldest backup, and not in the future.
       */
      time: string;
    };
    /** @description A backup of a database. */
    DatabaseBackup: {
      /** @description UUID, the same as its snapshot's. */
      id: string;
      databaseId: string;
      /**
       * @description `daily`: made by the schedule. `request`: made by a user.
       * @enum {string}
       */
      origin: "request" | "daily";
      /** @description Bytes that only this backup uses. */
      sizeBytes: number;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      /**
       * @description Result of a trial restore in the background, which checks every table and index.
       * @enum {string}
       */
      verified: "pending" | "ok" | "failed";
      /** @description RFC 3339: when the trial restore ended. */
      verifiedAt: string | null;
      /** @description Why the trial restore failed. */
      verifyError: string | null;
    };
    /** @description Answer of `GET /v1/databases/{id}/stats`. */
    DatabaseStats: {
      /** @description Bytes of all databases of the server. */
      sizeBytes: number;
      /** @description Client connections, without the broker's own. */
      connections: number;
      maxConnections: number;
      /** @description Share of blocks read from memory, 0 to 1; `null` before the first read. */
      cacheHitRatio: number | null;
      commits: number;
      deadlocks: number;
      /** @description State of the WAL archive, which is kept beside the backups. */
      archive: {
        /**
         * @description `behind`: many segments wait. `failing`: the last attempt archived nothing.
         * @enum {string}
         */
        state: "ok" | "behind" | "failing";
        /** @description Finished WAL segments that wait on the database's own disk. Beyond 256, segments are dropped and `gap_at` is set. */
        waitingSegments: number;
        /** @description Bytes on the host's disk. */
        sizeBytes: number;
        /** @description RFC 3339: the last archived segment; `null` if there is none. */
        lastAt: string | null;
        /** @description RFC 3339: when the archive last lost a segment. Times between then and the next backup cannot be restored. `null`: the archive is complete. */
        gapAt: string | null;
        /** @description Archived WAL that the object store does not have yet; `null` without an object store. */
        objects: {
          waitingBytes: number;
          /** @description Since the oldest segment that waits was archived; 0 if none waits. */
          waitingSeconds: number;
          /** @description Why the last upload failed; `null` if it succeeded. */
          error: string | null;
        } | null;
      };
      /** @description Slowest statements by mean time, slowest first. */
      slowStatements: {
        query: string;
        calls: number;
        totalMs: number;
        meanMs: number;
        rows: number;
      }[];
    };
    /** @description Body of `POST /v1/apps`. */
    CreateAppBody: {
      gitUrl: string;
      name: string;
      /** @description Default `main`. */
      gitBranch?: string | null;
      /** @description Detected from the files of the repository if absent. */
      framework?: components["schemas"]["Framework"] | null;
      /** @description Stored and returned only. The template has one runtime of each kind. */
      runtime?: string | null;
      /** @description Overrides the command of the framework or of `offshoot.json` in the repository. */
      installCommand?: string | null;
      buildCommand?: string | null;
      startCommand?: string | null;
      /** @description Relative to the root of the repository. */
      rootDirectory?: string | null;
      /** @description Set during builds and at run time. Never returned by a read. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description TCP port that the app listens on; passed to it as `PORT`. Default 3000. */
      port?: number | null;
      /** @description Accepted and ignored. Every app has APP_CPU. */
      cpu?: number | null;
      /** @description Accepted and ignored. Every app has APP_MEMORY_MIB. */
      memoryMb?: number | null;
      /** @description Default 1. */
      maxInstances?: number | null;
      /** @description Whether a push to the branch triggers a deploy. Default false. */
      autoDeploy?: boolean | null;
      /** @description Whether each pull request from a branch of the repository gets a preview app with its own address. Default false. */
      previewDeploys?: boolean | null;
      /** @description Seconds without a request before the app hibernates. Default 600. */
      idleTimeoutSeconds?: number | null;
      /** @description Default `public`. `private`: the app's addresses, and those of its previews, take a link or a session. */
      visibility?: components["schemas"]["Visibility"] | null;
    };
    /**
     * @description Decides the default commands of an app.
     * @enum {string}
     */
    Framework: "nextjs" | "vite" | "node" | "static" | "python";
    /** @description An app as the API shows it. */
    App: {
      /** @description UUID. */
      id: string;
      name: string;
      gitUrl: string;
      gitBranch: string;
      framework: components["schemas"]["Framework"] | null;
      runtime: string | null;
      installCommand: string | null;
      buildCommand: string | null;
      startCommand: string | null;
      rootDirectory: string | null;
      /** @description The names of the variables, each with the value `***`. */
      env: {
        [key: string]: string;
      };
      port: number;
      cpu: number;
      /** @description MiB. */
      memoryMb: number;
      maxInstances: number;
      autoDeploy: boolean;
      previewDeploys: boolean;
      /** @description Id of the app that this one is a preview of; `null` for other apps. */
      previewOf: string | null;
      /** @description Number of the pull request that this app previews. */
      pullNumber: number | null;
      idleTimeoutSeconds: number;
      visibility: components["schemas"]["Visibility"];
      /** @description Stable for the app's life; valid before the first deploy. */
      url: string;
      /** @description Address by the app's name. `null` if the name is no valid host label, or if another app has it. */
      nameUrl: string | null;
      status: components["schemas"]["AppStatus"];
      /** @description The deployment that serves requests. */
      activeDeploymentId: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      updatedAt: string;
    };
    /**
     * @description `error`: the last deploy failed and no other version serves, or the serving sandbox is gone.
     * @enum {string}
     */
    AppStatus: "created" | "building" | "running" | "hibernated" | "error";
    /** @description Body of `PATCH /v1/apps/{id}`. Absent and null fields keep their values. `env` replaces the whole map. An empty command removes the override. */
    PatchAppBody: {
      /** @description Default `main`. */
      gitBranch?: string | null;
      /** @description Detected from the files of the repository if absent. */
      framework?: components["schemas"]["Framework"] | null;
      /** @description Stored and returned only. The template has one runtime of each kind. */
      runtime?: string | null;
      /** @description Overrides the command of the framework or of `offshoot.json` in the repository. */
      installCommand?: string | null;
      buildCommand?: string | null;
      startCommand?: string | null;
      /** @description Relative to the root of the repository. */
      rootDirectory?: string | null;
      /** @description Set during builds and at run time. Never returned by a read. */
      env?: {
        [key: string]: string;
      } | null;
      /** @description TCP port that the app listens on; passed to it as `PORT`. Default 3000. */
      port?: number | null;
      /** @description Accepted and ignored. Every app has APP_CPU. */
      cpu?: number | null;
      /** @description Accepted and ignored. Every app has APP_MEMORY_MIB. */
      memoryMb?: number | null;
      /** @description Default 1. */
      maxInstances?: number | null;
      /** @description Whether a push to the branch triggers a deploy. Default false. */
      autoDeploy?: boolean | null;
      /** @description Whether each pull request from a branch of the repository gets a preview app with its own address. Default false. */
      previewDeploys?: boolean | null;
      /** @description Seconds without a request before the app hibernates. Default 600. */
      idleTimeoutSeconds?: number | null;
      /** @description Default `public`. `private`: the app's addresses, and those of its previews, take a link or a session. */
      visibility?: components["schemas"]["Visibility"] | null;
    };
    /** @description Body of `POST /v1/apps/{id}/domains`. `certificate` and `private_key` must both be present, or both absent. */
    PostAppDomainBody: {
      domain: string;
      /** @description PEM chain: the domain's certificate first, each following one signs the one before it. */
      certificate?: string | null;
      /** @description PEM, without a passphrase. Never returned by a read. */
      privateKey?: string | null;
    };
    /** @description A domain of an app. */
    AppDomain: {
      /** @description The domain in lower case. */
      domain: string;
      /**
       * @description `verified`: the edge serves the app there. `pending`: the record has not been seen yet, or another app has verified the domain since.
       * @enum {string}
       */
      status: "pending" | "verified";
      /** @description The DNS record that the caller must create. */
      record: {
        /** @constant */
        type: "TXT";
        name: string;
        value: string;
      };
      /** @description Address of the app once the domain is verified. */
      url: string;
      createdAt: string;
      /** @description `null` while pending. */
      verifiedAt: string | null;
      /** @description `null` if there is none: `https` then uses a certificate of the edge's local authority. */
      certificate: components["schemas"]["DomainCertificate"] | null;
    };
    /** @description The certificate that the edge presents for the domain. */
    DomainCertificate: {
      /**
       * @description `acme`: Offshoot orders and renews it. `given`: the caller uploaded it and must replace it before it expires.
       * @enum {string}
       */
      source: "acme" | "given";
      /**
       * @description - `pending`: the first order is in progress. - `failed`: no order has succeeded yet; `error` says why. - `expired`: it was not renewed in time.
       * @enum {string}
       */
      status: "pending" | "ready" | "failed" | "expired";
      /** @description Why the last order failed; `null` if it succeeded. With status `ready`, it is the renewal that failed. */
      error: string | null;
      /** @description RFC 3339, UTC, milliseconds. `null` before the first certificate. */
      expiresAt: string | null;
      /** @description When the next order or renewal is due. `null` for an uploaded certificate, and after the retries have ended. */
      nextOrderAt: string | null;
    };
    /** @description Body of `DELETE /v1/apps/{id}/domains`. */
    AppDomainBody: {
      domain: string;
    };
    /** @description Body of `POST /v1/apps/{id}/deploys`. */
    DeployBody: {
      /** @description A branch, tag or commit. Default: the app's branch. */
      gitRef?: string | null;
    };
    /** @description One deployment of an app. */
    Deployment: {
      /** @description UUID. */
      id: string;
      appId: string;
      status: components["schemas"]["DeploymentStatus"];
      /** @description The requested branch, tag or commit. */
      gitRef: string;
      /** @description The commit that `git_ref` resolved to; `null` until it is fetched. */
      gitCommit: string | null;
      /** @description The sandbox that builds and runs the version; `null` before it is created and after it is deleted. */
      sandboxId: string | null;
      /** @description Why it failed. */
      error: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      startedAt: string | null;
      finishedAt: string | null;
    };
    /**
     * @description `superseded`: it was live until another version replaced it, or a newer deployment arrived while it was queued.
     * @enum {string}
     */
    DeploymentStatus: "queued" | "building" | "deploying" | "live" | "failed" | "superseded";
    /** @description A deployment with its full build log. */
    DeploymentWithLogs: {
      /** @description UUID. */
      id: string;
      appId: string;
      status: components["schemas"]["DeploymentStatus"];
      /** @description The requested branch, tag or commit. */
      gitRef: string;
      /** @description The commit that `git_ref` resolved to; `null` until it is fetched. */
      gitCommit: string | null;
      /** @description The sandbox that builds and runs the version; `null` before it is created and after it is deleted. */
      sandboxId: string | null;
      /** @description Why it failed. */
      error: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      startedAt: string | null;
      finishedAt: string | null;
      buildLogs: string;
    };
    /** @description Body of `POST /v1/apps/{id}/rollback`. */
    RollbackBody: {
      /** @description A deployment that was live before. Default: the one before the active deployment. */
      deploymentId?: string | null;
    };
    /** @description An installation of the provider's app, bound to the workspace that connected it. */
    GitInstallation: {
      installationId: number;
      accountLogin: string;
      /** @description `User` or `Organization`. */
      accountType: string;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
    };
    /** @description A repository that the installation can read. */
    GitRepository: {
      id: number;
      name: string;
      fullName: string;
      private: boolean;
      defaultBranch: string;
      cloneUrl: string;
      htmlUrl: string;
    };
    /** @description Body of `POST /v1/webhooks`. */
    CreateWebhookBody: {
      /** @description `http` or `https`, without credentials. Control sends to public addresses only. */
      url: string;
      /** @description Types of events, groups such as `deploy.*`, or `*`. Default: all. */
      events?: string[] | null;
      /** @description Only events that refer to one of these ids or names: sandboxes, apps, databases, templates. Default: all. */
      objects?: string[] | null;
      description?: string | null;
    };
    /** @description Answer of `POST /v1/webhooks` and of `POST /v1/webhooks/{id}/rotate-secret`. */
    WebhookWithSecret: {
      /** @description UUID. */
      id: string;
      url: string;
      events: string[];
      objects: string[];
      description: string | null;
      enabled: boolean;
      disabledReason: components["schemas"]["WebhookDisabledReason"] | null;
      disabledAt: string | null;
      /** @description RFC 3339: since when every attempt has failed; `null`: the last one succeeded, or there was none. */
      failingSince: string | null;
      /** @description RFC 3339: until when the previous signature is sent, too. */
      overlapUntil: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      updatedAt: string;
      /** @description `whsec_…`: the key of the signatures, shown only here. */
      secret: string;
    };
    /**
     * @description Why a webhook is disabled. `user`: by a PATCH. `gone`: it answered 410. `failing`: every attempt of a day failed. `backlog`: too many deliveries waited.
     * @enum {string}
     */
    WebhookDisabledReason: "user" | "gone" | "failing" | "backlog";
    /** @description A webhook: an address to which control sends the events of a workspace. */
    Webhook: {
      /** @description UUID. */
      id: string;
      url: string;
      events: string[];
      objects: string[];
      description: string | null;
      enabled: boolean;
      disabledReason: components["schemas"]["WebhookDisabledReason"] | null;
      disabledAt: string | null;
      /** @description RFC 3339: since when every attempt has failed; `null`: the last one succeeded, or there was none. */
      failingSince: string | null;
      /** @description RFC 3339: until when the previous signature is sent, too. */
      overlapUntil: string | null;
      /** @description RFC 3339, UTC, milliseconds. */
      createdAt: string;
      updatedAt: string;
    };
    /** @description Body of `PATCH /v1/webhooks/{id}`. */
    PatchWebhookBody: {
      url?: string | null;
      events?: string[] | null;
      objects?: string[] | null;
      description?: string | null;
      /** @description False: nothing is sent, and waiting deliveries end. True: begins anew with the next event. */
      enabled?: boolean | null;
    };
    /** @description Body of `POST /v1/webhooks/{id}/rotate-secret`. */
    RotateSecretBody: {
      /** @description Seconds for which both secrets sign, 0 to 604800; default 86400. */
      overlapSeconds?: number | null;
    };
    /** @description A message to a webhook. */
    WebhookDelivery: {
      /** @description UUID. The header `webhook-id` is `msg_` and this id, the same for all attempts. */
      id: string;
      webhookId: string;
      /** @description Type of the event, or `webhook.test`. */
      type: string;
      /** @description `pending`: it waits for its first or next attempt. */
      status: components["schemas"]["WebhookDeliveryStatus"];
      attempts: number;
      /** @description Status of the last answer; `null`: there was none. */
      responseStatus: number | null;
      /** @description Milliseconds of the last attempt. */
      durationMs: number | null;
      /** @description Why the last attempt failed. */
      error: string | null;
      /** @description RFC 3339: when it is tried next; `null` unless `pending`. */
      nextAttemptAt: string | null;
      createdAt: string;
      finishedAt: string | null;
    };
    /** @enum {string} */
    WebhookDeliveryStatus: "pending" | "delivered" | "failed";
    /** @description Answer of `GET /v1/webhooks/{id}/deliveries/{delivery_id}`. */
    WebhookDeliveryDetails: {
      /** @description UUID. The header `webhook-id` is `msg_` and this id, the same for all attempts. */
      id: string;
      webhookId: string;
      /** @description Type of the event, or `webhook.test`. */
      type: string;
      /** @description `pending`: it waits for its first or next attempt. */
      status: components["schemas"]["WebhookDeliveryStatus"];
      attempts: number;
      /** @description Status of the last answer; `null`: there was none. */
      responseStatus: number | null;
      /** @description Milliseconds of the last attempt. */
      durationMs: number | null;
      /** @description Why the last attempt failed. */
      error: string | null;
      /** @description RFC 3339: when it is tried next; `null` unless `pending`. */
      nextAttemptAt: string | null;
      createdAt: string;
      finishedAt: string | null;
      /** @description The body that is sent. */
      payload: {
        [key: string]: unknown;
      };
      /** @description The last 30 attempts, oldest first. */
      log: components["schemas"]["WebhookAttempt"][];
    };
    /** @description One attempt of a delivery. */
    WebhookAttempt: {
      /** @description RFC 3339: its begin. */
      at: string;
      responseStatus: number | null;
      durationMs: number;
      error: string | null;
      /** @description The first 1024 bytes of the answer. */
      response: string | null;
    };
    /** @description Body of `POST /v1/webhooks/{id}/redeliver`. */
    RedeliverBody: {
      /** @description RFC 3339. Failed deliveries that were made at or after this time. */
      since: string;
    };
    /** @description Answer of `POST /v1/webhooks/{id}/redeliver`. */
    Redelivered: {
      /** @description Deliveries that are sent again: at most 10,000, the oldest first. */
      count: number;
    };
  };
}
export type Error = components['schemas']['Error'];
export type ServiceStatus = components['schemas']['ServiceStatus'];
export type PartStatus = components['schemas']['PartStatus'];
export type Service = components['schemas']['Service'];
export type Me = components['schemas']['Me'];
export type WorkspaceSummary = components['schemas']['WorkspaceSummary'];
export type WorkspaceRole = components['schemas']['WorkspaceRole'];
export type Permission = components['schemas']['Permission'];
export type DeleteMeBody = components['schemas']['DeleteMeBody'];
export type ChooseOrgBody = components['schemas']['ChooseOrgBody'];
export type ChosenOrg = components['schemas']['ChosenOrg'];
export type Scope = components['schemas']['Scope'];
export type CreatedToken = components['schemas']['CreatedToken'];
export type Token = components['schemas']['Token'];
export type Change = components['schemas']['Change'];
export type ChangeKind = components['schemas']['ChangeKind'];
export type AccessTokenBody = components['schemas']['AccessTokenBody'];
export type AccessToken = components['schemas']['AccessToken'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type AuditAction = components['schemas']['AuditAction'];
export type AuditTargetKind = components['schemas']['AuditTargetKind'];
export type OperatedAuditEntry = components['schemas']['OperatedAuditEntry'];
export type CreateOrgBody = components['schemas']['CreateOrgBody'];
export type Org = components['schemas']['Org'];
export type ChangeOrgBody = components['schemas']['ChangeOrgBody'];
export type Member = components['schemas']['Member'];
export type InviteBody = components['schemas']['InviteBody'];
export type Invitation = components['schemas']['Invitation'];
export type ChangeMemberBody = components['schemas']['ChangeMemberBody'];
export type OperatedOrg = components['schemas']['OperatedOrg'];
export type PlanName = components['schemas']['PlanName'];
export type Host = components['schemas']['Host'];
export type HostState = components['schemas']['HostState'];
export type HostTokenBody = components['schemas']['HostTokenBody'];
export type HostToken = components['schemas']['HostToken'];
export type HostDetail = components['schemas']['HostDetail'];
export type HostDrain = components['schemas']['HostDrain'];
export type PatchHostBody = components['schemas']['PatchHostBody'];
export type HostReconciliation = components['schemas']['HostReconciliation'];
export type ConfirmReconciliationBody = components['schemas']['ConfirmReconciliationBody'];
export type KeysAnswer = components['schemas']['KeysAnswer'];
export type OperatedJob = components['schemas']['OperatedJob'];
export type JobState = components['schemas']['JobState'];
export type Operator = components['schemas']['Operator'];
export type CreateOperatorBody = components['schemas']['CreateOperatorBody'];
export type PatchOperatorBody = components['schemas']['PatchOperatorBody'];
export type OperatorKey = components['schemas']['OperatorKey'];
export type CreateOperatorKeyBody = components['schemas']['CreateOperatorKeyBody'];
export type CreatedOperatorKey = components['schemas']['CreatedOperatorKey'];
export type CreateSshKeyBody = components['schemas']['CreateSshKeyBody'];
export type SshKey = components['schemas']['SshKey'];
export type SshGateway = components['schemas']['SshGateway'];
export type CreateSshCertificateBody = components['schemas']['CreateSshCertificateBody'];
export type SshCertificate = components['schemas']['SshCertificate'];
export type SetPlanBody = components['schemas']['SetPlanBody'];
export type SuspendBody = components['schemas']['SuspendBody'];
export type GrantCreditBody = components['schemas']['GrantCreditBody'];
export type SetRateBody = components['schemas']['SetRateBody'];
export type SetPlacementBody = components['schemas']['SetPlacementBody'];
export type Usage = components['schemas']['Usage'];
export type UsageGrouping = components['schemas']['UsageGrouping'];
export type Limits = components['schemas']['Limits'];
export type LimitName = components['schemas']['LimitName'];
export type StatementOfMonth = components['schemas']['StatementOfMonth'];
export type CheckoutBody = components['schemas']['CheckoutBody'];
export type PaidPlan = components['schemas']['PaidPlan'];
export type BillingLink = components['schemas']['BillingLink'];
export type BillingSync = components['schemas']['BillingSync'];
export type Template = components['schemas']['Template'];
export type Build = components['schemas']['Build'];
export type BuildStatus = components['schemas']['BuildStatus'];
export type BuildStage = components['schemas']['BuildStage'];
export type BuildLogLine = components['schemas']['BuildLogLine'];
export type SandboxTemplateBody = components['schemas']['SandboxTemplateBody'];
export type CreateVolumeBody = components['schemas']['CreateVolumeBody'];
export type Volume = components['schemas']['Volume'];
export type PatchVolumeBody = components['schemas']['PatchVolumeBody'];
export type CloneVolumeBody = components['schemas']['CloneVolumeBody'];
export type VolumeSnapshot = components['schemas']['VolumeSnapshot'];
export type CreateSandboxBody = components['schemas']['CreateSandboxBody'];
export type OnTimeout = components['schemas']['OnTimeout'];
export type Egress = components['schemas']['Egress'];
export type Visibility = components['schemas']['Visibility'];
export type Sandbox = components['schemas']['Sandbox'];
export type SandboxStatus = components['schemas']['SandboxStatus'];
export type BootMode = components['schemas']['BootMode'];
export type Lineage = components['schemas']['Lineage'];
export type PatchSandboxBody = components['schemas']['PatchSandboxBody'];
export type ExecBody = components['schemas']['ExecBody'];
export type ExecResult = components['schemas']['ExecResult'];
export type BackgroundStarted = components['schemas']['BackgroundStarted'];
export type HibernateBody = components['schemas']['HibernateBody'];
export type WokenSandbox = components['schemas']['WokenSandbox'];
export type Lifecycle = components['schemas']['Lifecycle'];
export type LifecyclePatch = components['schemas']['LifecyclePatch'];
export type ForkBody = components['schemas']['ForkBody'];
export type Fork = components['schemas']['Fork'];
export type ForkTreeBody = components['schemas']['ForkTreeBody'];
export type ForkTree = components['schemas']['ForkTree'];
export type PromoteBody = components['schemas']['PromoteBody'];
export type Promotion = components['schemas']['Promotion'];
export type SnapshotBody = components['schemas']['SnapshotBody'];
export type Snapshot = components['schemas']['Snapshot'];
export type Port = components['schemas']['Port'];
export type PortBody = components['schemas']['PortBody'];
export type PortToRemove = components['schemas']['PortToRemove'];
export type PreviewLinkBody = components['schemas']['PreviewLinkBody'];
export type CreatedPreviewLink = components['schemas']['CreatedPreviewLink'];
export type PreviewLink = components['schemas']['PreviewLink'];
export type FileWritten = components['schemas']['FileWritten'];
export type FolderListing = components['schemas']['FolderListing'];
export type FileEntry = components['schemas']['FileEntry'];
export type ArchiveUnpacked = components['schemas']['ArchiveUnpacked'];
export type FileChange = components['schemas']['FileChange'];
export type CodeBody = components['schemas']['CodeBody'];
export type CodeEvent = components['schemas']['CodeEvent'];
export type CodeResult = components['schemas']['CodeResult'];
export type CodeError = components['schemas']['CodeError'];
export type CodeContext = components['schemas']['CodeContext'];
export type NewCodeContext = components['schemas']['NewCodeContext'];
export type ExecEvent = components['schemas']['ExecEvent'];
export type Event = components['schemas']['Event'];
export type LogLine = components['schemas']['LogLine'];
export type LogStream = components['schemas']['LogStream'];
export type SandboxMetrics = components['schemas']['SandboxMetrics'];
export type MetricsPoint = components['schemas']['MetricsPoint'];
export type BackgroundExec = components['schemas']['BackgroundExec'];
export type SignalBody = components['schemas']['SignalBody'];
export type SignalName = components['schemas']['SignalName'];
export type StdinBody = components['schemas']['StdinBody'];
export type ResizeBody = components['schemas']['ResizeBody'];
export type WorkspaceEvent = components['schemas']['WorkspaceEvent'];
export type EventObjectKind = components['schemas']['EventObjectKind'];
export type CreateDatabaseBody = components['schemas']['CreateDatabaseBody'];
export type Database = components['schemas']['Database'];
export type DatabaseStatus = components['schemas']['DatabaseStatus'];
export type DatabaseSummary = components['schemas']['DatabaseSummary'];
export type DatabaseConnection = components['schemas']['DatabaseConnection'];
export type PatchDatabaseBody = components['schemas']['PatchDatabaseBody'];
export type BranchDatabaseBody = components['schemas']['BranchDatabaseBody'];
export type RestoreDatabaseBody = components['schemas']['RestoreDatabaseBody'];
export type DatabaseBackup = components['schemas']['DatabaseBackup'];
export type DatabaseStats = components['schemas']['DatabaseStats'];
export type CreateAppBody = components['schemas']['CreateAppBody'];
export type Framework = components['schemas']['Framework'];
export type App = components['schemas']['App'];
export type AppStatus = components['schemas']['AppStatus'];
export type PatchAppBody = components['schemas']['PatchAppBody'];
export type PostAppDomainBody = components['schemas']['PostAppDomainBody'];
export type AppDomain = components['schemas']['AppDomain'];
export type DomainCertificate = components['schemas']['DomainCertificate'];
export type AppDomainBody = components['schemas']['AppDomainBody'];
export type DeployBody = components['schemas']['DeployBody'];
export type Deployment = components['schemas']['Deployment'];
export type DeploymentStatus = components['schemas']['DeploymentStatus'];
export type DeploymentWithLogs = components['schemas']['DeploymentWithLogs'];
export type RollbackBody = components['schemas']['RollbackBody'];
export type GitInstallation = components['schemas']['GitInstallation'];
export type GitRepository = components['schemas']['GitRepository'];
export type CreateWebhookBody = components['schemas']['CreateWebhookBody'];
export type WebhookWithSecret = components['schemas']['WebhookWithSecret'];
export type WebhookDisabledReason = components['schemas']['WebhookDisabledReason'];
export type Webhook = components['schemas']['Webhook'];
export type PatchWebhookBody = components['schemas']['PatchWebhookBody'];
export type RotateSecretBody = components['schemas']['RotateSecretBody'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type WebhookDeliveryStatus = components['schemas']['WebhookDeliveryStatus'];
export type WebhookDeliveryDetails = components['schemas']['WebhookDeliveryDetails'];
export type WebhookAttempt = components['schemas']['WebhookAttempt'];
export type RedeliverBody = components['schemas']['RedeliverBody'];
export type Redelivered = components['schemas']['Redelivered'];
