// Generated from /openapi.json by generate-types.mjs. Do not edit.

export interface components {
  schemas: {
    Error: {
      error: string;
      detail?: string;
    };
    ServiceStatus: {
      status: components["schemas"]["PartStatus"];
      parts: {
        api: components["schemas"]["PartStatus"];
        sandboxes: components["schemas"]["PartStatus"];
        databases: components["schemas"]["PartStatus"];
        apps: components["schemas"]["PartStatus"];
        previews: components["schemas"]["PartStatus"];
      };
      checked_at: string;
    };
    /** @enum {string} */
    PartStatus: "operational" | "degraded" | "down" | "unknown";
    Service: {
      /** @enum {string} */
      sign_up: "open" | "invitation" | "closed";
      sign_in_providers: {
        id: string;
        name: string;
      }[];
      support: string | null;
      has_payments: boolean;
    };
    Me: {
      user: {
        id: string;
        email: string;
        name: string;
      };
      org: components["schemas"]["WorkspaceSummary"];
      orgs: components["schemas"]["WorkspaceSummary"][];
      permissions: components["schemas"]["Permission"][];
      scopes: string[];
      /** @constant */
      auth_method: "jwt";
    };
    WorkspaceSummary: {
      id: string;
      slug: string;
      name: string;
      role: components["schemas"]["WorkspaceRole"];
      plan: string;
    };
    /** @enum {string} */
    WorkspaceRole: "owner" | "admin" | "member";
    /** @enum {string} */
    Permission: "workspace:read" | "workspace:update" | "workspace:delete" | "members:manage" | "members:promote" | "tokens:manage" | "billing:manage" | "audit:read";
    DeleteMeBody: {
      password?: string | null;
    };
    ChooseOrgBody: {
      org_id: string | null;
      slug?: string | null;
    } | {
      org_id?: string | null;
      slug: string | null;
    };
    ChosenOrg: {
      org: components["schemas"]["WorkspaceSummary"];
    };
    /** @enum {string} */
    Scope: "sandboxes:read" | "sandboxes:write" | "templates:read" | "templates:write" | "volumes:read" | "volumes:write" | "databases:read" | "databases:write" | "apps:read" | "apps:write" | "billing:read" | "billing:write" | "audit:read" | "audit:write" | "webhooks:read" | "webhooks:write";
    CreatedToken: {
      prefix: string;
      name: string;
      label: string;
      scopes: components["schemas"]["Scope"][] | null;
      created_at: string;
      expires_at: string | null;
      last_used_at: string | null;
      created_by: string | null;
      token: string;
    };
    Token: {
      prefix: string;
      name: string;
      label: string;
      scopes: components["schemas"]["Scope"][] | null;
      created_at: string;
      expires_at: string | null;
      last_used_at: string | null;
      created_by: string | null;
    };
    Change: {
      kind: components["schemas"]["ChangeKind"];
      id: string;
    };
    /** @enum {string} */
    ChangeKind: "sandbox" | "snapshot" | "template" | "build" | "volume" | "volume_snapshot" | "database" | "backup" | "app" | "deployment" | "domain" | "webhook" | "webhook_delivery" | "key" | "ssh_key" | "member" | "invitation" | "workspace";
    AccessTokenBody: {
      org_id?: string | null;
      scopes?: components["schemas"]["Scope"][] | null;
      expires_in_seconds?: number | null;
    };
    AccessToken: {
      token: string;
      org_id: string;
      scopes: components["schemas"]["Scope"][] | null;
      expires_at: string;
    };
    AuditEntry: {
      id: string;
      created_at: string;
      actor: {
        /** @enum {string} */
        type: "user" | "key" | "sandbox" | "operator" | "service";
        id: string | null;
      };
      action: components["schemas"]["AuditAction"];
      target: string | null;
      target_kind: components["schemas"]["AuditTargetKind"] | null;
      ip: string | null;
      request_id: string | null;
      details: {
        [key: string]: unknown;
      };
    };
    /** @enum {string} */
    AuditAction: "token.created" | "token.revoked" | "org.created" | "org.updated" | "org.deleted" | "org.emptied" | "org.plan_set" | "org.suspended" | "org.unsuspended" | "org.credit_granted" | "org.rate_set" | "org.placement_set" | "invitation.created" | "invitation.revoked" | "member.joined" | "member.role_changed" | "member.removed" | "operator.created" | "operator.updated" | "operator.removed" | "operator_key.created" | "operator_key.revoked" | "host.reconciled" | "host.token_created" | "host.joined" | "host.removed" | "host.cordoned" | "host.uncordoned" | "host.drain_begun" | "host.drained" | "sandbox.moved" | "sandbox.recovered" | "snapshot.moved" | "template.moved" | "database.recovered" | "app.moved" | "app.recovered" | "host.updated" | "keys.rotated" | "authority.rotation_begun" | "authority.advanced" | "account.deleted" | "ssh_key.created" | "ssh_key.removed" | "ssh_certificate.issued" | "ssh.connected" | "request.made" | "secret.read";
    /** @enum {string} */
    AuditTargetKind: "app" | "authority" | "build" | "database" | "host" | "installation" | "invitation" | "job" | "operator" | "operator_key" | "org" | "sandbox" | "sealing_key" | "snapshot" | "ssh_key" | "template" | "token" | "user" | "volume" | "webhook";
    OperatedAuditEntry: {
      id: string;
      created_at: string;
      actor: {
        /** @enum {string} */
        type: "user" | "key" | "sandbox" | "operator" | "service";
        id: string | null;
        name: string | null;
      };
      action: components["schemas"]["AuditAction"];
      target: string | null;
      target_kind: components["schemas"]["AuditTargetKind"] | null;
      ip: string | null;
      request_id: string | null;
      details: {
        [key: string]: unknown;
      };
      workspace_id: string | null;
    };
    CreateOrgBody: {
      name: string;
      slug?: string | null;
    };
    Org: {
      id: string;
      slug: string;
      name: string;
      role: components["schemas"]["WorkspaceRole"];
      plan: string;
      created_at: string;
      members: number;
      suspended: boolean;
    };
    ChangeOrgBody: {
      name?: string | null;
      slug?: string | null;
    };
    Member: {
      user_id: string;
      email: string;
      name: string;
      role: components["schemas"]["WorkspaceRole"];
      joined_at: string;
    };
    InviteBody: {
      email: string;
      role?: ("admin" | "member") | null;
    };
    Invitation: {
      id: string;
      email: string;
      /** @enum {string} */
      role: "admin" | "member";
      created_at: string;
      expires_at: string;
    };
    ChangeMemberBody: {
      /** @enum {string} */
      role: "owner" | "admin" | "member";
    };
    OperatedOrg: {
      id: string;
      slug: string;
      name: string;
      plan: components["schemas"]["PlanName"];
      suspended: boolean;
      owners: string[];
      placement: {
        labels: {
          [key: string]: string;
        };
        zone: string | null;
      };
      created_at: string;
    };
    /** @enum {string} */
    PlanName: "free" | "pro" | "team" | "enterprise" | "self-hosted";
    Host: {
      id: string;
      state: components["schemas"]["HostState"];
      url: string;
      version: string | null;
      qemu_version: string | null;
      accelerator: ("kvm" | "tcg") | null;
      accelerator_reason: string | null;
      isolation: ("jail" | "jail-nolimits" | "user" | "user-nolimits" | "process") | null;
      cpu_limits: ("cgroup-v2" | "cgroup-v1" | "none") | null;
      network: {
        /** @enum {string} */
        kind: "tap" | "none";
        reason: string | null;
      } | null;
      capacity: {
        cpus: number | null;
        memory_mib: number | null;
        disk_bytes: number | null;
      };
      used: {
        memory_mib: number | null;
        disk_bytes: number | null;
      };
      disk_state: ("ok" | "low" | "refusing") | null;
      sandboxes: number;
      instances: number;
      databases: number;
      cordoned_at: string | null;
      labels: {
        [key: string]: string;
      };
      zone: string | null;
      lease: {
        generation: number;
        seconds: number;
        renewed_at: string;
        ended_at: string | null;
      } | null;
      last_heard_at: string | null;
      created_at: string;
    };
    /** @enum {string} */
    HostState: "joining" | "ready" | "cordoned" | "draining" | "lost" | "foreign";
    HostTokenBody: {
      host_id?: string | null;
    };
    HostToken: {
      token: string;
      expires_at: string;
    };
    HostDetail: {
      id: string;
      state: components["schemas"]["HostState"];
      url: string;
      version: string | null;
      qemu_version: string | null;
      accelerator: ("kvm" | "tcg") | null;
      accelerator_reason: string | null;
      isolation: ("jail" | "jail-nolimits" | "user" | "user-nolimits" | "process") | null;
      cpu_limits: ("cgroup-v2" | "cgroup-v1" | "none") | null;
      network: {
        /** @enum {string} */
        kind: "tap" | "none";
        reason: string | null;
      } | null;
      capacity: {
        cpus: number | null;
        memory_mib: number | null;
        disk_bytes: number | null;
      };
      used: {
        memory_mib: number | null;
        disk_bytes: number | null;
      };
      disk_state: ("ok" | "low" | "refusing") | null;
      sandboxes: number;
      instances: number;
      databases: number;
      cordoned_at: string | null;
      labels: {
        [key: string]: string;
      };
      zone: string | null;
      lease: {
        generation: number;
        seconds: number;
        renewed_at: string;
        ended_at: string | null;
      } | null;
      last_heard_at: string | null;
      created_at: string;
      drain: components["schemas"]["HostDrain"] | null;
    };
    HostDrain: {
      begun_at: string;
      ended_at: string | null;
      left: number;
      moving: number;
      moved: number;
      failed: number;
      staying: number;
      stays: {
        /** @enum {string} */
        kind: "sandbox" | "app" | "database" | "volume" | "snapshot" | "template";
        id: string;
        workspace_id: string;
        reason: string;
      }[];
    };
    PatchHostBody: {
      labels?: {
        [key: string]: string;
      } | null;
      zone?: string | null;
    };
    HostReconciliation: {
      agent_id: string;
      /** @enum {string} */
      cluster: "own" | "other" | "none";
      count: number;
      waiting: {
        /** @enum {string} */
        action: "delete" | "forget";
        /** @enum {string} */
        kind: "sandbox" | "snapshot" | "volume" | "template";
        id: string;
        workspace_id: string;
        /** Format: date-time */
        since: string;
      }[];
    };
    ConfirmReconciliationBody: {
      count: number;
      take_over?: boolean | null;
    };
    KeysAnswer: {
      current: number;
      keys: {
        version: number;
        created_at: string;
        active_at: string;
        is_resealed: boolean;
      }[];
    };
    OperatedJob: {
      id: string;
      task: string;
      state: components["schemas"]["JobState"];
      subject: string | null;
      run_at: string;
      attempts: number;
      max_attempts: number;
      error: string | null;
      created_at: string;
    };
    /** @enum {string} */
    JobState: "waiting" | "running" | "retrying" | "failed";
    Operator: {
      id: string;
      name: string;
      /** @enum {string} */
      role: "viewer" | "operator" | "owner";
      created_at: string;
    };
    CreateOperatorBody: {
      name: string;
      /** @enum {string} */
      role: "viewer" | "operator" | "owner";
    };
    PatchOperatorBody: {
      name?: string | null;
      role?: ("viewer" | "operator" | "owner") | null;
    };
    OperatorKey: {
      prefix: string;
      name: string;
      created_at: string;
      expires_at: string | null;
      last_used_at: string | null;
    };
    CreateOperatorKeyBody: {
      name: string;
      expires_in_days?: number | null;
    };
    CreatedOperatorKey: {
      prefix: string;
      name: string;
      created_at: string;
      expires_at: string | null;
      last_used_at: string | null;
      key: string;
    };
    CreateSshKeyBody: {
      public_key: string;
      name?: string | null;
    };
    SshKey: {
      id: string;
      name: string;
      type: string;
      fingerprint: string;
      public_key: string;
      created_at: string;
      last_used_at: string | null;
    };
    SshGateway: {
      host: string;
      port: number;
      host_key: string;
      host_key_fingerprint: string;
      known_hosts: string;
    };
    CreateSshCertificateBody: {
      public_key: string;
    };
    SshCertificate: {
      certificate: string;
      expires_at: string;
      gateway: components["schemas"]["SshGateway"];
    };
    SetPlanBody: {
      /** @enum {string} */
      plan: "free" | "pro" | "team" | "enterprise" | "self-hosted";
    };
    SuspendBody: {
      reason?: string | null;
    };
    GrantCreditBody: {
      credit_usd: number;
      reason: string;
    };
    SetRateBody: {
      burst?: number | null;
      per_second?: number | null;
    };
    SetPlacementBody: {
      labels?: {
        [key: string]: string;
      } | null;
      zone?: string | null;
    };
    Usage: {
      from: string;
      to: string;
      group_by: components["schemas"]["UsageGrouping"];
      total: {
        running_seconds: number;
        paused_seconds: number;
        hibernated_seconds: number;
        cpu_seconds: number;
        storage_seconds: number;
        cost_usd: number;
        cost_micro_usd: number;
      };
      groups: {
        key: string | null;
        running_seconds: number;
        paused_seconds: number;
        hibernated_seconds: number;
        cpu_seconds: number;
        storage_seconds: number;
        cost_usd: number;
        cost_micro_usd: number;
      }[];
    };
    /** @enum {string} */
    UsageGrouping: "sandbox" | "template" | "app" | "database" | "day";
    Limits: {
      plan: components["schemas"]["PlanName"];
      subscription_status: string | null;
      limits: {
        name: components["schemas"]["LimitName"];
        used: number;
        max: number | null;
      }[];
    };
    /** @enum {string} */
    LimitName: "sandboxes" | "cpu" | "memory_mib" | "creates_last_hour" | "cpu_seconds_month" | "usage_usd_month" | "credit_usd_month" | "volumes" | "volume_mib_included" | "webhooks" | "members";
    StatementOfMonth: {
      month: string;
      is_final: boolean;
      plan: string;
      plans?: {
        plan: string;
        from: string;
        usage_usd: number;
        credit_usd: number;
      }[];
      /** @constant */
      currency: "usd";
      lines: {
        /** @enum {string} */
        item: "running" | "paused" | "hibernated" | "storage";
        seconds: number;
        cpu_seconds: number;
        cost_usd: number;
      }[];
      usage_usd: number;
      credit_usd: number;
      total_usd: number;
    };
    CheckoutBody: {
      plan: components["schemas"]["PaidPlan"];
    };
    /** @enum {string} */
    PaidPlan: "pro" | "team";
    BillingLink: {
      url: string;
    };
    BillingSync: {
      plan: string;
      subscription_status: string | null;
      credit_usd: number;
      cost_usd_used: number;
      synced_at: string;
    };
    Template: {
      name: string;
      rootfs_path: string;
      size_bytes: number;
      cpu: number;
      memory_mb: number;
      meta: {
        [key: string]: unknown;
      };
      is_global: boolean;
      created_at: string;
      updated_at: string;
    };
    Build: {
      id: string;
      name: string;
      status: components["schemas"]["BuildStatus"];
      stage: components["schemas"]["BuildStage"];
      percent: number;
      error: string | null;
      created_at: string;
      started_at: string | null;
      ended_at: string | null;
      size_mb: number;
      bytes: number;
    };
    /** @enum {string} */
    BuildStatus: "queued" | "running" | "baking" | "done" | "failed";
    /** @enum {string} */
    BuildStage: "waiting" | "reading" | "unpacking" | "booting" | "freezing" | "done";
    BuildLogLine: {
      ts: string;
      stage: components["schemas"]["BuildStage"];
      percent: number;
      line: string;
    };
    SandboxTemplateBody: {
      name: string;
      memory?: boolean | null;
      start_cmd?: string | null;
      ready_cmd?: string | null;
      replace?: boolean | null;
    };
    CreateVolumeBody: {
      name: string;
      size_mb?: number | null;
      from_snapshot?: string | null;
    };
    Volume: {
      name: string;
      size_mb: number;
      size_bytes: number;
      used_bytes: number | null;
      agent_id: string;
      attached_to: string | null;
      attachments: {
        sandbox_id: string;
        read_only: boolean;
      }[];
      created_at: string;
    };
    PatchVolumeBody: {
      size_mb: number;
    };
    CloneVolumeBody: {
      name: string;
    };
    VolumeSnapshot: {
      id: string;
      volume: string;
      size_mb: number;
      size_bytes: number;
      created_at: string;
    };
    CreateSandboxBody: {
      template: string | null;
      ttl_seconds?: number | null;
      on_timeout?: components["schemas"]["OnTimeout"] | null;
      metadata?: {
        [key: string]: string;
      } | null;
      from_snapshot?: string | null;
      persistent?: boolean | null;
      idle_timeout_seconds?: number | null;
      volumes?: {
        name: string;
        read_only?: boolean | null;
      }[] | null;
      env?: {
        [key: string]: string;
      } | null;
      network?: {
        egress?: components["schemas"]["Egress"] | null;
      } | null;
      visibility?: components["schemas"]["Visibility"] | null;
      cpu?: number | null;
      memory_mb?: number | null;
    } | {
      template?: string | null;
      ttl_seconds?: number | null;
      on_timeout?: components["schemas"]["OnTimeout"] | null;
      metadata?: {
        [key: string]: string;
      } | null;
      from_snapshot: string | null;
      persistent?: boolean | null;
      idle_timeout_seconds?: number | null;
      volumes?: {
        name: string;
        read_only?: boolean | null;
      }[] | null;
      env?: {
        [key: string]: string;
      } | null;
      network?: {
        egress?: components["schemas"]["Egress"] | null;
      } | null;
      visibility?: components["schemas"]["Visibility"] | null;
      cpu?: number | null;
      memory_mb?: number | null;
    };
    /** @enum {string} */
    OnTimeout: "delete" | "pause";
    /** @enum {string} */
    Egress: "internet" | "none";
    /** @enum {string} */
    Visibility: "public" | "private";
    Sandbox: {
      id: string;
      template: string;
      status: components["schemas"]["SandboxStatus"];
      boot_ms: number | null;
      boot_mode: components["schemas"]["BootMode"] | null;
      guest_ip: string | null;
      metadata: {
        [key: string]: string;
      };
      created_at: string;
      cpu: number;
      memory_mb: number;
      persistent: boolean;
      expires_at: string | null;
      on_timeout: components["schemas"]["OnTimeout"];
      from_snapshot: string | null;
      parent_id: string | null;
      fork_tree_id: string | null;
      volumes: {
        name: string;
        read_only: boolean;
      }[];
      managed_by: ("app" | "database") | null;
      network: {
        egress: components["schemas"]["Egress"];
      };
      visibility: components["schemas"]["Visibility"];
    };
    /** @enum {string} */
    SandboxStatus: "creating" | "running" | "paused" | "hibernated" | "failed";
    /** @enum {string} */
    BootMode: "cold" | "snapshot" | "pool" | "fork";
    Lineage: {
      root_id: string;
      nodes: {
        id: string;
        /** @enum {string} */
        kind: "sandbox" | "snapshot";
        /** @enum {string} */
        link: "template" | "fork" | "from_snapshot" | "snapshot_of";
        parent_id: string | null;
        name: string | null;
        template: string;
        /** @enum {string} */
        status: "creating" | "running" | "paused" | "hibernated" | "failed" | "ready" | "deleted";
        cpu: number;
        memory_mb: number;
        size_bytes: number | null;
        fork_tree_id: string | null;
        promoted: boolean;
        created_at: string;
        deleted_at: string | null;
      }[];
      truncated: boolean;
    };
    PatchSandboxBody: {
      visibility: components["schemas"]["Visibility"];
    };
    ExecBody: {
      cmd: string | null;
      argv?: string[] | null;
      timeout_seconds?: number | null;
      timeout?: number | null;
      cwd?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      user?: string | null;
      stdin?: string | null;
      encoding?: ("utf8" | "base64") | null;
      background?: boolean | null;
      stdin_open?: boolean | null;
      backpressure?: boolean | null;
      pty?: {
        rows: number;
        cols: number;
      } | null;
    } | {
      cmd?: string | null;
      argv: string[] | null;
      timeout_seconds?: number | null;
      timeout?: number | null;
      cwd?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      user?: string | null;
      stdin?: string | null;
      encoding?: ("utf8" | "base64") | null;
      background?: boolean | null;
      stdin_open?: boolean | null;
      backpressure?: boolean | null;
      pty?: {
        rows: number;
        cols: number;
      } | null;
    };
    ExecResult: {
      stdout: string;
      stderr: string;
      exit_code: number;
      duration_ms: number;
      /** @constant */
      truncated?: true;
    };
    BackgroundStarted: {
      pid: number;
      exec_id: string;
    };
    HibernateBody: {
      memory?: boolean | null;
    };
    WokenSandbox: {
      id: string;
      template: string;
      status: components["schemas"]["SandboxStatus"];
      boot_ms: number | null;
      boot_mode: components["schemas"]["BootMode"] | null;
      guest_ip: string | null;
      metadata: {
        [key: string]: string;
      };
      created_at: string;
      cpu: number;
      memory_mb: number;
      persistent: boolean;
      expires_at: string | null;
      on_timeout: components["schemas"]["OnTimeout"];
      from_snapshot: string | null;
      parent_id: string | null;
      fork_tree_id: string | null;
      volumes: {
        name: string;
        read_only: boolean;
      }[];
      managed_by: ("app" | "database") | null;
      network: {
        egress: components["schemas"]["Egress"];
      };
      visibility: components["schemas"]["Visibility"];
      /** @constant */
      cold?: true;
    };
    Lifecycle: {
      ttl_seconds: number;
      persistent: boolean;
      idle_seconds: number;
      idle_timeout_seconds: number;
      expires_at: string | null;
      on_timeout: components["schemas"]["OnTimeout"];
    };
    LifecyclePatch: {
      ttl_seconds?: number | null;
      on_timeout?: components["schemas"]["OnTimeout"] | null;
      persistent?: boolean | null;
      idle_timeout_seconds?: number | null;
    };
    ForkBody: {
      metadata?: {
        [key: string]: string;
      } | null;
    };
    Fork: {
      id: string;
      template: string;
      status: components["schemas"]["SandboxStatus"];
      boot_ms: number | null;
      boot_mode: components["schemas"]["BootMode"] | null;
      guest_ip: string | null;
      metadata: {
        [key: string]: string;
      };
      created_at: string;
      cpu: number;
      memory_mb: number;
      persistent: boolean;
      expires_at: string | null;
      on_timeout: components["schemas"]["OnTimeout"];
      from_snapshot: string | null;
      parent_id: string | null;
      fork_tree_id: string | null;
      volumes: {
        name: string;
        read_only: boolean;
      }[];
      managed_by: ("app" | "database") | null;
      network: {
        egress: components["schemas"]["Egress"];
      };
      visibility: components["schemas"]["Visibility"];
      snapshot_id: string;
      children: components["schemas"]["Sandbox"][];
      warnings: string[];
    };
    ForkTreeBody: {
      metadata?: {
        [key: string]: string;
      } | null;
      count?: number | null;
    };
    ForkTree: {
      tree_id: string;
      parent_id: string;
      snapshot_id: string;
      children: components["schemas"]["Sandbox"][];
      errors: {
        index: number;
        error: string;
      }[];
      warnings: string[];
    };
    PromoteBody: {
      tree_id?: string | null;
      cleanup_siblings?: boolean | null;
    };
    Promotion: {
      winner: string;
      tree_id: string;
      deleted: string[];
      failures: {
        [key: string]: string;
      };
    };
    SnapshotBody: {
      name?: string | null;
    };
    Snapshot: {
      id: string;
      name: string | null;
      sandbox_id: string;
      template: string;
      cpu: number;
      memory_mb: number;
      size_bytes: number;
      /** @enum {string} */
      origin: "user" | "fork";
      created_at: string;
    };
    Port: {
      port: number;
      label: string | null;
      listening: boolean;
      /** @enum {string} */
      source: "user" | "detected";
      url: string;
    };
    PortBody: {
      port: number;
      label?: string | null;
    };
    PortToRemove: {
      port: number;
    };
    PreviewLinkBody: {
      expires_in_seconds?: number | null;
      label?: string | null;
    };
    CreatedPreviewLink: {
      id: string;
      port: number | null;
      label: string | null;
      created_at: string;
      expires_at: string;
      url: string;
      token: string;
    };
    PreviewLink: {
      id: string;
      port: number | null;
      label: string | null;
      created_at: string;
      expires_at: string;
    };
    FileWritten: {
      path: string;
      path_encoded?: string;
      bytes: number;
    };
    FolderListing: {
      path: string;
      path_encoded?: string;
      entries: components["schemas"]["FileEntry"][];
    };
    FileEntry: {
      name: string;
      path: string;
      /** @enum {string} */
      type: "file" | "dir" | "symlink" | "other";
      is_dir: boolean;
      size: number;
      mode: string;
      mtime: number;
      mtime_ms: number;
      uid: number;
      gid: number;
      user: string;
      group: string;
      target?: string;
      target_path?: string;
      /** @enum {string} */
      target_type?: "file" | "dir" | "symlink" | "other";
      target_mode?: string;
      path_encoded?: string;
      target_encoded?: string;
      target_path_encoded?: string;
    };
    ArchiveUnpacked: {
      path: string;
      path_encoded?: string;
      entries: number;
      bytes: number;
    };
    FileChange: {
      path: string;
      is_dir: boolean;
      to?: string;
      path_encoded?: string;
      to_encoded?: string;
    } | {
      error: string;
    };
    CodeBody: {
      code: string;
      language?: ("python" | "javascript" | "typescript" | "bash") | null;
      context_id?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      timeout_seconds?: number | null;
    };
    CodeEvent: {
      chunk: string;
    } | components["schemas"]["CodeResult"] | components["schemas"]["CodeError"] | {
      execution_count: number;
      duration_ms: number;
    } | {
      error: string;
    };
    CodeResult: {
      is_main_result: boolean;
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
      data?: {
        [key: string]: unknown;
      };
      chart?: {
        [key: string]: unknown;
      };
      extra?: {
        [key: string]: unknown;
      };
    };
    CodeError: {
      name: string;
      value: string;
      traceback: string;
    };
    CodeContext: {
      id: string;
      /** @enum {string} */
      language: "python" | "javascript" | "typescript" | "bash";
      cwd: string;
    };
    NewCodeContext: {
      language?: ("python" | "javascript" | "typescript" | "bash") | null;
      cwd?: string | null;
    };
    ExecEvent: {
      pid: number;
      exec_id: string;
    } | {
      chunk: string;
    } | {
      exit_code: number;
      duration_ms: number;
    } | {
      error: string;
    };
    Event: {
      ts: string;
      sandbox_id: string;
      agent_id: string;
      /** @enum {string} */
      type: "sandbox.running" | "sandbox.ssh_ready" | "sandbox.paused" | "sandbox.resumed" | "sandbox.hibernated" | "sandbox.woken" | "sandbox.deleted" | "sandbox.forked" | "sandbox.warmforked" | "fork.staged" | "fork.completed" | "fork.child_failed" | "fork_tree.completed" | "fork_tree.promoted" | "warmfork.staged" | "vm.died" | "recover.orphaned" | "recover.unmanaged" | "sandbox.port_opened" | "sandbox.port_closed" | "sandbox.visibility_changed" | "sandbox.timeout_failed" | "events.dropped";
      /** @enum {string} */
      code: "ok" | "error" | "warn";
      message: string;
      metadata: {
        [key: string]: unknown;
      };
    };
    LogLine: {
      ts: string;
      stream: components["schemas"]["LogStream"];
      line: string;
      source: string;
    };
    /** @enum {string} */
    LogStream: "stdout" | "stderr";
    SandboxMetrics: {
      now: {
        ts: string;
        cpu_seconds: number;
        memory_guest_used_bytes: number | null;
        memory_host_private_bytes: number;
        disk_bytes: number;
        network_in_bytes: number | null;
        network_out_bytes: number | null;
        memory_guest_used_ts: string | null;
      };
      step_seconds: number;
      points: components["schemas"]["MetricsPoint"][];
    };
    MetricsPoint: {
      ts: string;
      cpu_seconds: number;
      memory_guest_used_bytes: number | null;
      memory_host_private_bytes: number;
      disk_bytes: number;
      network_in_bytes: number | null;
      network_out_bytes: number | null;
    };
    BackgroundExec: {
      exec_id: string;
      pid: number;
      cmd: string;
      is_pty: boolean;
      /** @enum {string} */
      status: "running" | "exited";
      exit_code: number | null;
      started_at: string;
      ended_at: string | null;
      timeout_at: string | null;
      output_bytes: number;
      oldest_offset: number;
    };
    SignalBody: {
      signal: components["schemas"]["SignalName"];
    };
    /** @enum {string} */
    SignalName: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGABRT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGPIPE" | "SIGALRM" | "SIGTERM" | "SIGCHLD" | "SIGCONT" | "SIGSTOP" | "SIGTSTP" | "SIGTTIN" | "SIGTTOU" | "SIGWINCH";
    StdinBody: {
      stdin: string | null;
      encoding?: ("utf8" | "base64") | null;
      eof?: boolean | null;
    } | {
      stdin?: string | null;
      encoding?: ("utf8" | "base64") | null;
      eof: boolean | null;
    };
    ResizeBody: {
      rows: number;
      cols: number;
    };
    WorkspaceEvent: {
      id: string;
      ts: string;
      /** @enum {string} */
      type: "sandbox.running" | "sandbox.ssh_ready" | "sandbox.paused" | "sandbox.resumed" | "sandbox.hibernated" | "sandbox.woken" | "sandbox.deleted" | "sandbox.forked" | "sandbox.warmforked" | "fork.staged" | "fork.completed" | "fork.child_failed" | "fork_tree.completed" | "fork_tree.promoted" | "warmfork.staged" | "vm.died" | "recover.orphaned" | "recover.unmanaged" | "sandbox.port_opened" | "sandbox.port_closed" | "sandbox.visibility_changed" | "sandbox.timeout_failed" | "build.started" | "build.succeeded" | "build.failed" | "deploy.queued" | "deploy.building" | "deploy.deploying" | "deploy.live" | "deploy.failed" | "deploy.superseded" | "database.created" | "database.ready" | "database.deleted" | "database.backup_created" | "database.backup_verified" | "database.backup_failed";
      /** @enum {string} */
      code: "ok" | "error" | "warn";
      message: string;
      object: {
        kind: components["schemas"]["EventObjectKind"];
        id: string;
      };
      sandbox_id: string | null;
      agent_id: string | null;
      metadata: {
        [key: string]: unknown;
      };
    };
    /** @enum {string} */
    EventObjectKind: "sandbox" | "build" | "deploy" | "database";
    CreateDatabaseBody: {
      label?: string | null;
      size?: ("1g" | "4g" | "16g") | null;
    };
    Database: {
      id: string;
      label: string | null;
      /** @enum {string} */
      size: "1g" | "4g" | "16g";
      status: components["schemas"]["DatabaseStatus"];
      created_at: string;
      parent_id: string | null;
      connection_url: string;
      broker_url: string;
      broker_token: string;
      host: string;
      port: number;
      database: string;
      username: string;
      password: string;
      cpu: number;
      memory_mb: number;
      disk_mb: number;
      idle_timeout_seconds: number;
      always_on: boolean;
      recovered_at: string | null;
      recovered_until: string | null;
    };
    /** @enum {string} */
    DatabaseStatus: "provisioning" | "running" | "hibernated" | "failed";
    DatabaseSummary: {
      id: string;
      label: string | null;
      /** @enum {string} */
      size: "1g" | "4g" | "16g";
      status: components["schemas"]["DatabaseStatus"];
      created_at: string;
      parent_id: string | null;
    };
    DatabaseConnection: {
      connection_url: string;
      broker_url: string;
      broker_token: string;
    };
    PatchDatabaseBody: {
      label?: string | null;
      idle_timeout_seconds?: number | null;
      always_on?: boolean | null;
      disk_mb?: number | null;
    };
    BranchDatabaseBody: {
      label?: string | null;
      at?: string | null;
    };
    RestoreDatabaseBody: {
      label?: string | null;
      /** Format: date-time */
      time: string;
    };
    DatabaseBackup: {
      id: string;
      database_id: string;
      /** @enum {string} */
      origin: "request" | "daily";
      size_bytes: number;
      created_at: string;
      /** @enum {string} */
      verified: "pending" | "ok" | "failed";
      verified_at: string | null;
      verify_error: string | null;
    };
    DatabaseStats: {
      size_bytes: number;
      connections: number;
      max_connections: number;
      cache_hit_ratio: number | null;
      commits: number;
      deadlocks: number;
      archive: {
        /** @enum {string} */
        state: "ok" | "behind" | "failing";
        waiting_segments: number;
        size_bytes: number;
        last_at: string | null;
        gap_at: string | null;
        objects: {
          waiting_bytes: number;
          waiting_seconds: number;
          error: string | null;
        } | null;
      };
      slow_statements: {
        query: string;
        calls: number;
        total_ms: number;
        mean_ms: number;
        rows: number;
      }[];
    };
    CreateAppBody: {
      git_url: string;
      name: string;
      git_branch?: string | null;
      framework?: components["schemas"]["Framework"] | null;
      runtime?: string | null;
      install_command?: string | null;
      build_command?: string | null;
      start_command?: string | null;
      root_directory?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      port?: number | null;
      cpu?: number | null;
      memory_mb?: number | null;
      max_instances?: number | null;
      auto_deploy?: boolean | null;
      preview_deploys?: boolean | null;
      idle_timeout_seconds?: number | null;
      visibility?: components["schemas"]["Visibility"] | null;
    };
    /** @enum {string} */
    Framework: "nextjs" | "vite" | "node" | "static" | "python";
    App: {
      id: string;
      name: string;
      git_url: string;
      git_branch: string;
      framework: components["schemas"]["Framework"] | null;
      runtime: string | null;
      install_command: string | null;
      build_command: string | null;
      start_command: string | null;
      root_directory: string | null;
      env: {
        [key: string]: string;
      };
      port: number;
      cpu: number;
      memory_mb: number;
      max_instances: number;
      auto_deploy: boolean;
      preview_deploys: boolean;
      preview_of: string | null;
      pull_number: number | null;
      idle_timeout_seconds: number;
      visibility: components["schemas"]["Visibility"];
      url: string;
      name_url: string | null;
      status: components["schemas"]["AppStatus"];
      active_deployment_id: string | null;
      created_at: string;
      updated_at: string;
    };
    /** @enum {string} */
    AppStatus: "created" | "building" | "running" | "hibernated" | "error";
    PatchAppBody: {
      git_branch?: string | null;
      framework?: components["schemas"]["Framework"] | null;
      runtime?: string | null;
      install_command?: string | null;
      build_command?: string | null;
      start_command?: string | null;
      root_directory?: string | null;
      env?: {
        [key: string]: string;
      } | null;
      port?: number | null;
      cpu?: number | null;
      memory_mb?: number | null;
      max_instances?: number | null;
      auto_deploy?: boolean | null;
      preview_deploys?: boolean | null;
      idle_timeout_seconds?: number | null;
      visibility?: components["schemas"]["Visibility"] | null;
    };
    PostAppDomainBody: {
      domain: string;
      certificate?: string | null;
      private_key?: string | null;
    };
    AppDomain: {
      domain: string;
      /** @enum {string} */
      status: "pending" | "verified";
      record: {
        /** @constant */
        type: "TXT";
        name: string;
        value: string;
      };
      url: string;
      created_at: string;
      verified_at: string | null;
      certificate: components["schemas"]["DomainCertificate"] | null;
    };
    DomainCertificate: {
      /** @enum {string} */
      source: "acme" | "given";
      /** @enum {string} */
      status: "pending" | "ready" | "failed" | "expired";
      error: string | null;
      expires_at: string | null;
      next_order_at: string | null;
    };
    AppDomainBody: {
      domain: string;
    };
    DeployBody: {
      git_ref?: string | null;
    };
    Deployment: {
      id: string;
      app_id: string;
      status: components["schemas"]["DeploymentStatus"];
      git_ref: string;
      git_commit: string | null;
      sandbox_id: string | null;
      error: string | null;
      created_at: string;
      started_at: string | null;
      finished_at: string | null;
    };
    /** @enum {string} */
    DeploymentStatus: "queued" | "building" | "deploying" | "live" | "failed" | "superseded";
    DeploymentWithLogs: {
      id: string;
      app_id: string;
      status: components["schemas"]["DeploymentStatus"];
      git_ref: string;
      git_commit: string | null;
      sandbox_id: string | null;
      error: string | null;
      created_at: string;
      started_at: string | null;
      finished_at: string | null;
      build_logs: string;
    };
    RollbackBody: {
      deployment_id?: string | null;
    };
    GitInstallation: {
      installation_id: number;
      account_login: string;
      account_type: string;
      created_at: string;
    };
    GitRepository: {
      id: number;
      name: string;
      full_name: string;
      private: boolean;
      default_branch: string;
      clone_url: string;
      html_url: string;
    };
    CreateWebhookBody: {
      url: string;
      events?: string[] | null;
      objects?: string[] | null;
      description?: string | null;
    };
    WebhookWithSecret: {
      id: string;
      url: string;
      events: string[];
      objects: string[];
      description: string | null;
      enabled: boolean;
      disabled_reason: components["schemas"]["WebhookDisabledReason"] | null;
      disabled_at: string | null;
      failing_since: string | null;
      overlap_until: string | null;
      created_at: string;
      updated_at: string;
      secret: string;
    };
    /** @enum {string} */
    WebhookDisabledReason: "user" | "gone" | "failing" | "backlog";
    Webhook: {
      id: string;
      url: string;
      events: string[];
      objects: string[];
      description: string | null;
      enabled: boolean;
      disabled_reason: components["schemas"]["WebhookDisabledReason"] | null;
      disabled_at: string | null;
      failing_since: string | null;
      overlap_until: string | null;
      created_at: string;
      updated_at: string;
    };
    PatchWebhookBody: {
      url?: string | null;
      events?: string[] | null;
      objects?: string[] | null;
      description?: string | null;
      enabled?: boolean | null;
    };
    RotateSecretBody: {
      overlap_seconds?: number | null;
    };
    WebhookDelivery: {
      id: string;
      webhook_id: string;
      type: string;
      status: components["schemas"]["WebhookDeliveryStatus"];
      attempts: number;
      response_status: number | null;
      duration_ms: number | null;
      error: string | null;
      next_attempt_at: string | null;
      created_at: string;
      finished_at: string | null;
    };
    /** @enum {string} */
    WebhookDeliveryStatus: "pending" | "delivered" | "failed";
    WebhookDeliveryDetails: {
      id: string;
      webhook_id: string;
      type: string;
      status: components["schemas"]["WebhookDeliveryStatus"];
      attempts: number;
      response_status: number | null;
      duration_ms: number | null;
      error: string | null;
      next_attempt_at: string | null;
      created_at: string;
      finished_at: string | null;
      payload: {
        [key: string]: unknown;
      };
      log: components["schemas"]["WebhookAttempt"][];
    };
    WebhookAttempt: {
      at: string;
      response_status: number | null;
      duration_ms: number;
      error: string | null;
      response: string | null;
    };
    RedeliverBody: {
      since: string;
    };
    Redelivered: {
      count: number;
    };
    Routes: {
      /** @description Make an account and begin a session (a cookie) */
      "POST /api/auth/sign-up/email": {
        body: {
          email: string;
          password: string;
          name: string;
        };
        answer: {
          token: string | null;
          user: {
            id: string;
            email: string;
            name: string;
          };
        };
      };
      /** @description Begin a session (a cookie) */
      "POST /api/auth/sign-in/email": {
        body: {
          email: string;
          password: string;
        };
        answer: {
          token: string | null;
          user: {
            id: string;
            email: string;
            name: string;
          };
        };
      };
      /** @description Begin a session (a cookie) with the token of a link, which works once */
      "POST /api/auth/sign-in/link": {
        body: {
          token: string;
        };
        answer: {
          token: string | null;
          user: {
            id: string;
            email: string;
            name: string;
          };
        };
      };
      /** @description Prepare a second factor; a first code at verify-totp switches it on */
      "POST /api/auth/two-factor/enable": {
        body: {
          password: string;
        };
        answer: {
          totpURI: string;
          backupCodes: string[];
        };
      };
      /** @description Complete a sign-in with a code, or switch the second factor on */
      "POST /api/auth/two-factor/verify-totp": {
        body: {
          code: string;
          trustDevice?: boolean;
        };
        answer: {
          token: string | null;
          user: {
            id: string;
            email: string;
            name: string;
          };
        };
      };
      /** @description Complete a sign-in with a recovery code, which works once */
      "POST /api/auth/two-factor/verify-backup-code": {
        body: {
          code: string;
        };
        answer: {
          token: string | null;
          user: {
            id: string;
            email: string;
            name: string;
          };
        };
      };
      /** @description Switch the second factor off */
      "POST /api/auth/two-factor/disable": {
        body: {
          password: string;
        };
        answer: {
          status: boolean;
        };
      };
      /** @description End the session */
      "POST /api/auth/sign-out": {
        answer: {
          success: boolean;
        };
      };
      /** @description Get a JWT of the session, for an hour */
      "GET /api/auth/token": {
        answer: {
          token: string;
        };
      };
      /** @description Read the public keys of our JWTs (RFC 7517) */
      "GET /api/auth/jwks": {
        answer: {
          keys: {
            [key: string]: unknown;
          }[];
        };
      };
      /** @description This document */
      "GET /openapi.json": {
        answer: {
          [key: string]: unknown;
        };
      };
      /** @description Figures for Prometheus */
      "GET /metrics": {
        answer: null;
      };
      /** @description Whether the service is up (503 when its database is out of reach), and what its agents run on */
      "GET /healthz": {
        answer: {
          /** @enum {string} */
          status: "ok" | "unavailable";
          checks: {
            [key: string]: string;
          };
          agents: unknown[];
        };
      };
      /** @description Which version runs */
      "GET /version": {
        answer: {
          [key: string]: string;
        };
      };
      /** @description Whether each part of the service works */
      "GET /v1/status": {
        answer: components["schemas"]["ServiceStatus"];
      };
      /** @description What the service offers, also before sign-in */
      "GET /v1/service": {
        answer: components["schemas"]["Service"];
      };
      /** @description Who the token speaks for */
      "GET /v1/me": {
        answer: components["schemas"]["Me"];
      };
      /** @description Delete your account */
      "DELETE /v1/me": {
        body?: components["schemas"]["DeleteMeBody"];
        answer: null;
      };
      /** @description Choose the workspace to act in */
      "POST /v1/me/current-org": {
        body: components["schemas"]["ChooseOrgBody"];
        answer: components["schemas"]["ChosenOrg"];
      };
      /** @description Make an API key */
      "POST /v1/me/tokens": {
        body: {
          name: string | null;
          label?: string | null;
          expires_in_days?: number | null;
          scopes?: components["schemas"]["Scope"][] | null;
        } | {
          name?: string | null;
          label: string | null;
          expires_in_days?: number | null;
          scopes?: components["schemas"]["Scope"][] | null;
        };
        answer: components["schemas"]["CreatedToken"];
      };
      /** @description List API keys, newest first */
      "GET /v1/me/tokens": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          created_by?: string;
          expired?: boolean;
        };
        answer: components["schemas"]["Token"][];
      };
      /** @description Revoke all API keys that you made */
      "DELETE /v1/me/tokens": {
        answer: null;
      };
      /** @description Follow which objects of the workspace change (server-sent events) */
      "GET /v1/changes": {
        answer: null;
        event: components["schemas"]["Change"];
      };
      /** @description Revoke an API key */
      "DELETE /v1/me/tokens/{prefix}": {
        path: {
          prefix: string;
        };
        answer: null;
      };
      /** @description Make a JWT for one workspace, with fewer rights */
      "POST /v1/me/access-tokens": {
        body?: components["schemas"]["AccessTokenBody"];
        answer: components["schemas"]["AccessToken"];
      };
      /** @description Read who did what, newest first */
      "GET /v1/audit": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          action?: "token.created" | "token.revoked" | "org.created" | "org.updated" | "org.deleted" | "org.emptied" | "org.plan_set" | "org.suspended" | "org.unsuspended" | "org.credit_granted" | "org.rate_set" | "org.placement_set" | "invitation.created" | "invitation.revoked" | "member.joined" | "member.role_changed" | "member.removed" | "operator.created" | "operator.updated" | "operator.removed" | "operator_key.created" | "operator_key.revoked" | "host.reconciled" | "host.token_created" | "host.joined" | "host.removed" | "host.cordoned" | "host.uncordoned" | "host.drain_begun" | "host.drained" | "sandbox.moved" | "sandbox.recovered" | "snapshot.moved" | "template.moved" | "database.recovered" | "app.moved" | "app.recovered" | "host.updated" | "keys.rotated" | "authority.rotation_begun" | "authority.advanced" | "account.deleted" | "ssh_key.created" | "ssh_key.removed" | "ssh_certificate.issued" | "ssh.connected" | "request.made" | "secret.read";
          actor?: string;
          /** @enum {string} */
          actor_type?: "user" | "key" | "sandbox" | "operator" | "service";
          target?: string;
          /** @enum {string} */
          target_kind?: "app" | "authority" | "build" | "database" | "host" | "installation" | "invitation" | "job" | "operator" | "operator_key" | "org" | "sandbox" | "sealing_key" | "snapshot" | "ssh_key" | "template" | "token" | "user" | "volume" | "webhook";
          request_id?: string;
          status?: number;
          /** Format: date-time */
          from?: string;
          /** Format: date-time */
          to?: string;
        };
        answer: components["schemas"]["AuditEntry"][];
      };
      /** @description Read all of it as one file, newest first */
      "GET /v1/audit/export": {
        query?: {
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          action?: "token.created" | "token.revoked" | "org.created" | "org.updated" | "org.deleted" | "org.emptied" | "org.plan_set" | "org.suspended" | "org.unsuspended" | "org.credit_granted" | "org.rate_set" | "org.placement_set" | "invitation.created" | "invitation.revoked" | "member.joined" | "member.role_changed" | "member.removed" | "operator.created" | "operator.updated" | "operator.removed" | "operator_key.created" | "operator_key.revoked" | "host.reconciled" | "host.token_created" | "host.joined" | "host.removed" | "host.cordoned" | "host.uncordoned" | "host.drain_begun" | "host.drained" | "sandbox.moved" | "sandbox.recovered" | "snapshot.moved" | "template.moved" | "database.recovered" | "app.moved" | "app.recovered" | "host.updated" | "keys.rotated" | "authority.rotation_begun" | "authority.advanced" | "account.deleted" | "ssh_key.created" | "ssh_key.removed" | "ssh_certificate.issued" | "ssh.connected" | "request.made" | "secret.read";
          actor?: string;
          /** @enum {string} */
          actor_type?: "user" | "key" | "sandbox" | "operator" | "service";
          target?: string;
          /** @enum {string} */
          target_kind?: "app" | "authority" | "build" | "database" | "host" | "installation" | "invitation" | "job" | "operator" | "operator_key" | "org" | "sandbox" | "sealing_key" | "snapshot" | "ssh_key" | "template" | "token" | "user" | "volume" | "webhook";
          request_id?: string;
          status?: number;
          /** Format: date-time */
          from?: string;
          /** Format: date-time */
          to?: string;
          /** @enum {string} */
          format?: "ndjson" | "csv";
        };
        answer: null;
      };
      /** @description Read who did what in all workspaces, newest first */
      "GET /v1/admin/audit": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          action?: "token.created" | "token.revoked" | "org.created" | "org.updated" | "org.deleted" | "org.emptied" | "org.plan_set" | "org.suspended" | "org.unsuspended" | "org.credit_granted" | "org.rate_set" | "org.placement_set" | "invitation.created" | "invitation.revoked" | "member.joined" | "member.role_changed" | "member.removed" | "operator.created" | "operator.updated" | "operator.removed" | "operator_key.created" | "operator_key.revoked" | "host.reconciled" | "host.token_created" | "host.joined" | "host.removed" | "host.cordoned" | "host.uncordoned" | "host.drain_begun" | "host.drained" | "sandbox.moved" | "sandbox.recovered" | "snapshot.moved" | "template.moved" | "database.recovered" | "app.moved" | "app.recovered" | "host.updated" | "keys.rotated" | "authority.rotation_begun" | "authority.advanced" | "account.deleted" | "ssh_key.created" | "ssh_key.removed" | "ssh_certificate.issued" | "ssh.connected" | "request.made" | "secret.read";
          actor?: string;
          /** @enum {string} */
          actor_type?: "user" | "key" | "sandbox" | "operator" | "service";
          target?: string;
          /** @enum {string} */
          target_kind?: "app" | "authority" | "build" | "database" | "host" | "installation" | "invitation" | "job" | "operator" | "operator_key" | "org" | "sandbox" | "sealing_key" | "snapshot" | "ssh_key" | "template" | "token" | "user" | "volume" | "webhook";
          request_id?: string;
          status?: number;
          /** Format: date-time */
          from?: string;
          /** Format: date-time */
          to?: string;
          workspace_id?: string;
        };
        answer: components["schemas"]["OperatedAuditEntry"][];
      };
      /** @description Read the audit log of all workspaces as one file, newest first */
      "GET /v1/admin/audit/export": {
        query?: {
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          action?: "token.created" | "token.revoked" | "org.created" | "org.updated" | "org.deleted" | "org.emptied" | "org.plan_set" | "org.suspended" | "org.unsuspended" | "org.credit_granted" | "org.rate_set" | "org.placement_set" | "invitation.created" | "invitation.revoked" | "member.joined" | "member.role_changed" | "member.removed" | "operator.created" | "operator.updated" | "operator.removed" | "operator_key.created" | "operator_key.revoked" | "host.reconciled" | "host.token_created" | "host.joined" | "host.removed" | "host.cordoned" | "host.uncordoned" | "host.drain_begun" | "host.drained" | "sandbox.moved" | "sandbox.recovered" | "snapshot.moved" | "template.moved" | "database.recovered" | "app.moved" | "app.recovered" | "host.updated" | "keys.rotated" | "authority.rotation_begun" | "authority.advanced" | "account.deleted" | "ssh_key.created" | "ssh_key.removed" | "ssh_certificate.issued" | "ssh.connected" | "request.made" | "secret.read";
          actor?: string;
          /** @enum {string} */
          actor_type?: "user" | "key" | "sandbox" | "operator" | "service";
          target?: string;
          /** @enum {string} */
          target_kind?: "app" | "authority" | "build" | "database" | "host" | "installation" | "invitation" | "job" | "operator" | "operator_key" | "org" | "sandbox" | "sealing_key" | "snapshot" | "ssh_key" | "template" | "token" | "user" | "volume" | "webhook";
          request_id?: string;
          status?: number;
          /** Format: date-time */
          from?: string;
          /** Format: date-time */
          to?: string;
          workspace_id?: string;
          /** @enum {string} */
          format?: "ndjson" | "csv";
        };
        answer: null;
      };
      /** @description List workspaces, in the order of joining */
      "GET /v1/orgs": {
        query?: {
          limit?: number;
          cursor?: string;
          name?: string;
          slug?: string;
          /** @enum {string} */
          role?: "owner" | "admin" | "member";
        };
        answer: components["schemas"]["WorkspaceSummary"][];
      };
      /** @description Make a workspace */
      "POST /v1/orgs": {
        body: components["schemas"]["CreateOrgBody"];
        answer: components["schemas"]["WorkspaceSummary"];
      };
      /** @description One workspace */
      "GET /v1/orgs/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Org"];
      };
      /** @description Rename a workspace */
      "PATCH /v1/orgs/{id}": {
        path: {
          id: string;
        };
        body?: components["schemas"]["ChangeOrgBody"];
        answer: components["schemas"]["WorkspaceSummary"];
      };
      /** @description Delete a workspace and everything in it */
      "DELETE /v1/orgs/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List members, in the order of joining */
      "GET /v1/orgs/{id}/members": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          email?: string;
          /** @enum {string} */
          role?: "owner" | "admin" | "member";
        };
        answer: components["schemas"]["Member"][];
      };
      /** @description Invite somebody by e-mail */
      "POST /v1/orgs/{id}/members": {
        path: {
          id: string;
        };
        body: components["schemas"]["InviteBody"];
        answer: components["schemas"]["Invitation"];
      };
      /** @description Change the role of a member */
      "PATCH /v1/orgs/{id}/members/{user_id}": {
        path: {
          id: string;
          user_id: string;
        };
        body: components["schemas"]["ChangeMemberBody"];
        answer: components["schemas"]["Member"];
      };
      /** @description Remove a member, or leave */
      "DELETE /v1/orgs/{id}/members/{user_id}": {
        path: {
          id: string;
          user_id: string;
        };
        answer: null;
      };
      /** @description List open invitations, newest first */
      "GET /v1/orgs/{id}/invites": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          email?: string;
          /** @enum {string} */
          role?: "admin" | "member";
        };
        answer: components["schemas"]["Invitation"][];
      };
      /** @description Take an invitation back */
      "DELETE /v1/orgs/{id}/invites/{invite_id}": {
        path: {
          id: string;
          invite_id: string;
        };
        answer: null;
      };
      /** @description Accept an invitation */
      "POST /v1/orgs/invites/{token}/accept": {
        path: {
          token: string;
        };
        answer: components["schemas"]["ChosenOrg"];
      };
      /** @description List all workspaces, newest first */
      "GET /v1/admin/orgs": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          plan?: "free" | "pro" | "team" | "enterprise" | "self-hosted";
          suspended?: boolean;
          q?: string;
        };
        answer: components["schemas"]["OperatedOrg"][];
      };
      /** @description List the hosts with their state, capacity and use, newest first */
      "GET /v1/admin/hosts": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          label?: string[];
          zone?: string;
        };
        answer: components["schemas"]["Host"][];
      };
      /** @description Make a token with which one host can join within an hour, or join again */
      "POST /v1/admin/hosts/tokens": {
        body?: components["schemas"]["HostTokenBody"];
        answer: components["schemas"]["HostToken"];
      };
      /** @description Remove a host that has joined */
      "DELETE /v1/admin/hosts/{id}": {
        path: {
          id: string;
        };
        query?: {
          reason?: string;
        };
        answer: null;
      };
      /** @description Read one host */
      "GET /v1/admin/hosts/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["HostDetail"];
      };
      /** @description Label a host and put it in a zone */
      "PATCH /v1/admin/hosts/{id}": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PatchHostBody"];
        answer: components["schemas"]["HostDetail"];
      };
      /** @description What takes a host's disk */
      "GET /v1/hosts/{id}/disk": {
        path: {
          id: string;
        };
        answer: {
          total_bytes: number;
          free_bytes: number;
          bakes_bytes: number;
          layers_bytes: number;
          snapshots_bytes: number;
          sandboxes_bytes: number;
          volumes_bytes: number;
          templates_bytes: number;
          builds_bytes: number;
          agent_id: string;
        };
      };
      /** @description What a host neither uses nor deletes, the oldest first */
      "GET /v1/hosts/{id}/quarantine": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** @enum {string} */
          state?: "quarantined" | "unreadable";
          /** @enum {string} */
          kind?: "sandbox" | "snapshot" | "volume" | "template" | "build" | "layer" | "other";
        };
        answer: {
          entry: string;
          /** @enum {string} */
          state: "quarantined" | "unreadable";
          /** @enum {string} */
          kind: "sandbox" | "snapshot" | "volume" | "template" | "build" | "layer" | "other";
          id: string;
          path: string;
          reason: string;
          /** @default null */
          layers: string[] | null;
          /** Format: date-time */
          since: string;
        }[];
      };
      /** @description Bring an object back: to its place from quarantine, or into use once its record is repaired */
      "POST /v1/hosts/{id}/quarantine/{entry}/restore": {
        path: {
          id: string;
          entry: string;
        };
        answer: null;
      };
      /** @description Remove an object for good */
      "DELETE /v1/hosts/{id}/quarantine/{entry}": {
        path: {
          id: string;
          entry: string;
        };
        answer: null;
      };
      /** @description Move the sandboxes of a host to other hosts */
      "POST /v1/admin/hosts/{id}/drain": {
        path: {
          id: string;
        };
        answer: components["schemas"]["HostDetail"];
      };
      /** @description Keep new sandboxes away from a host */
      "POST /v1/admin/hosts/{id}/cordon": {
        path: {
          id: string;
        };
        answer: components["schemas"]["HostDetail"];
      };
      /** @description Let new sandboxes on a host again */
      "POST /v1/admin/hosts/{id}/uncordon": {
        path: {
          id: string;
        };
        answer: components["schemas"]["HostDetail"];
      };
      /** @description What reconciliation of a host removes only when it is confirmed */
      "GET /v1/admin/hosts/{id}/reconcile": {
        path: {
          id: string;
        };
        answer: components["schemas"]["HostReconciliation"];
      };
      /** @description Confirm what waits, or make a host of another cluster obey this one */
      "POST /v1/admin/hosts/{id}/reconcile": {
        path: {
          id: string;
        };
        body: components["schemas"]["ConfirmReconciliationBody"];
        answer: components["schemas"]["HostReconciliation"];
      };
      /** @description Figures of every sandbox with a VM, and of every agent, for Prometheus */
      "GET /v1/admin/metrics": {
        answer: null;
      };
      /** @description The keys that seal stored secrets */
      "GET /v1/admin/keys": {
        answer: components["schemas"]["KeysAnswer"];
      };
      /** @description Make a new sealing key and a new signing key */
      "POST /v1/admin/keys/rotate": {
        answer: components["schemas"]["KeysAnswer"];
      };
      /** @description The authority of the certificates of hosts */
      "GET /v1/admin/hosts/authority": {
        answer: {
          /** @enum {string} */
          step: "settled" | "introducing" | "replacing";
          version: number;
          current: {
            sha256: string;
            expires_at: string;
          } | null;
          other: {
            sha256: string;
            expires_at: string;
          } | null;
          waiting: number;
          waits_for: {
            /** @enum {string} */
            kind: "host" | "edge" | "control";
            id: string;
            is_lost: boolean;
          }[];
        };
      };
      /** @description Replace the authority of the certificates of hosts by a new one */
      "POST /v1/admin/hosts/authority/rotate": {
        answer: {
          /** @enum {string} */
          step: "settled" | "introducing" | "replacing";
          version: number;
          current: {
            sha256: string;
            expires_at: string;
          } | null;
          other: {
            sha256: string;
            expires_at: string;
          } | null;
          waiting: number;
          waits_for: {
            /** @enum {string} */
            kind: "host" | "edge" | "control";
            id: string;
            is_lost: boolean;
          }[];
        };
      };
      /** @description Take the next step of a replacement without those that it waits for */
      "POST /v1/admin/hosts/authority/advance": {
        body: {
          reason: string;
        };
        answer: {
          /** @enum {string} */
          step: "settled" | "introducing" | "replacing";
          version: number;
          current: {
            sha256: string;
            expires_at: string;
          } | null;
          other: {
            sha256: string;
            expires_at: string;
          } | null;
          waiting: number;
          waits_for: {
            /** @enum {string} */
            kind: "host" | "edge" | "control";
            id: string;
            is_lost: boolean;
          }[];
        };
      };
      /** @description List the jobs of control, newest first */
      "GET /v1/admin/jobs": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          task?: string;
          /** @enum {string} */
          state?: "waiting" | "running" | "retrying" | "failed";
        };
        answer: components["schemas"]["OperatedJob"][];
      };
      /** @description Run a job now, also one that has failed for good */
      "POST /v1/admin/jobs/{id}/retry": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Discard a job. One that is still necessary is added again within a minute */
      "DELETE /v1/admin/jobs/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List the operators, newest first */
      "GET /v1/admin/operators": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          /** @enum {string} */
          role?: "viewer" | "operator" | "owner";
        };
        answer: components["schemas"]["Operator"][];
      };
      /** @description Add an operator, who has no key yet */
      "POST /v1/admin/operators": {
        body: components["schemas"]["CreateOperatorBody"];
        answer: components["schemas"]["Operator"];
      };
      /** @description Read one operator */
      "GET /v1/admin/operators/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Operator"];
      };
      /** @description Rename an operator, or change the role */
      "PATCH /v1/admin/operators/{id}": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PatchOperatorBody"];
        answer: components["schemas"]["Operator"];
      };
      /** @description Remove an operator and its keys */
      "DELETE /v1/admin/operators/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List the keys of an operator, newest first */
      "GET /v1/admin/operators/{id}/keys": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          expired?: boolean;
        };
        answer: components["schemas"]["OperatorKey"][];
      };
      /** @description Make a key of an operator */
      "POST /v1/admin/operators/{id}/keys": {
        path: {
          id: string;
        };
        body: components["schemas"]["CreateOperatorKeyBody"];
        answer: components["schemas"]["CreatedOperatorKey"];
      };
      /** @description Revoke a key of an operator */
      "DELETE /v1/admin/operators/{id}/keys/{prefix}": {
        path: {
          id: string;
          prefix: string;
        };
        answer: null;
      };
      /** @description Add an SSH key */
      "POST /v1/me/ssh-keys": {
        body: components["schemas"]["CreateSshKeyBody"];
        answer: components["schemas"]["SshKey"];
      };
      /** @description List your SSH keys, newest first */
      "GET /v1/me/ssh-keys": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          fingerprint?: string;
        };
        answer: components["schemas"]["SshKey"][];
      };
      /** @description Remove an SSH key */
      "DELETE /v1/me/ssh-keys/{key_id}": {
        path: {
          key_id: string;
        };
        answer: null;
      };
      /** @description Where the SSH gateway is, and its host key */
      "GET /v1/ssh": {
        answer: components["schemas"]["SshGateway"];
      };
      /** @description Sign a certificate of one hour for an SSH key */
      "POST /v1/ssh-certificates": {
        body: components["schemas"]["CreateSshCertificateBody"];
        answer: components["schemas"]["SshCertificate"];
      };
      /** @description Put a workspace on a plan */
      "POST /v1/admin/orgs/{id}/plan": {
        path: {
          id: string;
        };
        body: components["schemas"]["SetPlanBody"];
        answer: components["schemas"]["OperatedOrg"];
      };
      /** @description Let a workspace begin nothing new */
      "POST /v1/admin/orgs/{id}/suspend": {
        path: {
          id: string;
        };
        body?: components["schemas"]["SuspendBody"];
        answer: components["schemas"]["OperatedOrg"];
      };
      /** @description End the suspension of a workspace */
      "POST /v1/admin/orgs/{id}/unsuspend": {
        path: {
          id: string;
        };
        body?: components["schemas"]["SuspendBody"];
        answer: components["schemas"]["OperatedOrg"];
      };
      /** @description Give a workspace credit for this month */
      "POST /v1/admin/orgs/{id}/credit": {
        path: {
          id: string;
        };
        body: components["schemas"]["GrantCreditBody"];
        answer: components["schemas"]["OperatedOrg"];
      };
      /** @description Give a workspace a rate limit of its own */
      "POST /v1/admin/orgs/{id}/rate": {
        path: {
          id: string;
        };
        body?: components["schemas"]["SetRateBody"];
        answer: components["schemas"]["OperatedOrg"];
      };
      /** @description Require labels and a zone of the hosts that a workspace uses */
      "POST /v1/admin/orgs/{id}/placement": {
        path: {
          id: string;
        };
        body?: components["schemas"]["SetPlacementBody"];
        answer: components["schemas"]["OperatedOrg"];
      };
      /** @description Read what was used and what it costs */
      "GET /v1/usage": {
        query?: {
          from?: string;
          to?: string;
          /**
           * @default day
           * @enum {string}
           */
          group_by?: "sandbox" | "template" | "app" | "database" | "day";
        };
        answer: components["schemas"]["Usage"];
      };
      /** @description Read the limits of the plan and what is used of them */
      "GET /v1/usage/limits": {
        answer: components["schemas"]["Limits"];
      };
      /** @description Read the statement of a month */
      "GET /v1/statements/{month}": {
        path: {
          month: string;
        };
        answer: components["schemas"]["StatementOfMonth"];
      };
      /** @description Get the page where a plan is subscribed to */
      "POST /v1/billing/checkout": {
        body: components["schemas"]["CheckoutBody"];
        answer: components["schemas"]["BillingLink"];
      };
      /** @description Get the page where the subscription is managed */
      "POST /v1/billing/portal": {
        answer: components["schemas"]["BillingLink"];
      };
      /** @description Make plan and subscription equal to what the payment provider says */
      "POST /v1/billing/sync": {
        answer: components["schemas"]["BillingSync"];
      };
      /** @description Take an event of the payment provider, signed by it */
      "POST /v1/webhooks/stripe": {
        answer: {
          /** @constant */
          ok: true;
        };
      };
      /** @description List templates, by name */
      "GET /v1/templates": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          is_global?: boolean;
        };
        answer: components["schemas"]["Template"][];
      };
      /** @description Read one template */
      "GET /v1/templates/{name}": {
        path: {
          name: string;
        };
        answer: components["schemas"]["Template"];
      };
      /** @description Delete a template */
      "DELETE /v1/templates/{name}": {
        path: {
          name: string;
        };
        answer: null;
      };
      /** @description List builds of a template, newest first */
      "GET /v1/templates/{name}/builds": {
        path: {
          name: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          status?: "queued" | "running" | "baking" | "done" | "failed";
        };
        answer: components["schemas"]["Build"][];
      };
      /** @description List builds, newest first */
      "GET /v1/templates/builds": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          status?: "queued" | "running" | "baking" | "done" | "failed";
          name?: string;
        };
        answer: components["schemas"]["Build"][];
      };
      /** @description Read one build */
      "GET /v1/builds/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Build"];
      };
      /** @description Cancel a build; one that has ended stays */
      "DELETE /v1/builds/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Read the log of a build as text, or follow it (server-sent events named line, then done) */
      "GET /v1/builds/{id}/logs": {
        path: {
          id: string;
        };
        query?: {
          follow?: boolean;
        };
        answer: null;
        event: components["schemas"]["BuildLogLine"];
      };
      /** @description Read one build */
      "GET /v1/templates/builds/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Build"];
      };
      /** @description Cancel a build; one that has ended stays */
      "DELETE /v1/templates/builds/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Read the log of a build as text, or follow it (server-sent events named line, then done) */
      "GET /v1/templates/builds/{id}/logs": {
        path: {
          id: string;
        };
        query?: {
          follow?: boolean;
        };
        answer: null;
        event: components["schemas"]["BuildLogLine"];
      };
      /** @description Build a template from an archive: tar, tar.gz, docker save or an OCI layout */
      "POST /v1/templates/build": {
        query: {
          name: string;
          size_mb?: number | null;
          cpu?: number | null;
          memory_mb?: number | null;
          start_cmd?: string | null;
          ready_cmd?: string | null;
          replace?: boolean | null;
        };
        body?: unknown;
        answer: components["schemas"]["Build"];
      };
      /** @description Make a template of a sandbox: of its disk, or of disk and memory */
      "POST /v1/sandboxes/{id}/template": {
        path: {
          id: string;
        };
        body: components["schemas"]["SandboxTemplateBody"];
        answer: components["schemas"]["Build"];
      };
      /** @description Create a volume: an ext4 block device that outlives sandboxes */
      "POST /v1/volumes": {
        body: components["schemas"]["CreateVolumeBody"];
        answer: components["schemas"]["Volume"];
      };
      /** @description List volumes, newest first */
      "GET /v1/volumes": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          attached?: boolean;
        };
        answer: components["schemas"]["Volume"][];
      };
      /** @description Read one volume */
      "GET /v1/volumes/{name}": {
        path: {
          name: string;
        };
        answer: components["schemas"]["Volume"];
      };
      /** @description Grow a volume */
      "PATCH /v1/volumes/{name}": {
        path: {
          name: string;
        };
        body: components["schemas"]["PatchVolumeBody"];
        answer: components["schemas"]["Volume"];
      };
      /** @description Delete a volume and what is in it */
      "DELETE /v1/volumes/{name}": {
        path: {
          name: string;
        };
        answer: null;
      };
      /** @description Copy a volume, also while a sandbox writes it */
      "POST /v1/volumes/{name}/clone": {
        path: {
          name: string;
        };
        body: components["schemas"]["CloneVolumeBody"];
        answer: components["schemas"]["Volume"];
      };
      /** @description Take a snapshot of a volume, also while a sandbox writes it */
      "POST /v1/volumes/{name}/snapshots": {
        path: {
          name: string;
        };
        body?: Record<string, never>;
        answer: components["schemas"]["VolumeSnapshot"];
      };
      /** @description List snapshots of a volume, newest first */
      "GET /v1/volumes/{name}/snapshots": {
        path: {
          name: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
        };
        answer: components["schemas"]["VolumeSnapshot"][];
      };
      /** @description Delete a snapshot of a volume */
      "DELETE /v1/volumes/{name}/snapshots/{id}": {
        path: {
          name: string;
          id: string;
        };
        answer: null;
      };
      /** @description Create a sandbox from a template */
      "POST /v1/sandboxes": {
        body: components["schemas"]["CreateSandboxBody"];
        answer: components["schemas"]["Sandbox"];
      };
      /** @description List sandboxes, newest first unless order says otherwise; with metadata.KEY=VALUE those that have the tag */
      "GET /v1/sandboxes": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          template?: string;
          status?: ("creating" | "running" | "paused" | "hibernated" | "failed")[];
          /** @enum {string} */
          order?: "asc" | "desc";
        };
        answer: components["schemas"]["Sandbox"][];
      };
      /** @description Read one sandbox */
      "GET /v1/sandboxes/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Sandbox"];
      };
      /** @description Make the ports of a sandbox public or private */
      "PATCH /v1/sandboxes/{id}": {
        path: {
          id: string;
        };
        body: components["schemas"]["PatchSandboxBody"];
        answer: components["schemas"]["Sandbox"];
      };
      /** @description Delete a sandbox */
      "DELETE /v1/sandboxes/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Read the tree to which a sandbox belongs, with what is deleted */
      "GET /v1/sandboxes/{id}/lineage": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Lineage"];
      };
      /** @description Run a command and wait for its end; 201 with its exec_id for a background command */
      "POST /v1/sandboxes/{id}/exec": {
        path: {
          id: string;
        };
        body: components["schemas"]["ExecBody"];
        answer: components["schemas"]["ExecResult"] | components["schemas"]["BackgroundStarted"];
      };
      /** @description Stop the vCPUs; memory stays */
      "POST /v1/sandboxes/{id}/pause": {
        path: {
          id: string;
        };
        body?: Record<string, never>;
        answer: components["schemas"]["Sandbox"];
      };
      /** @description Let a paused sandbox go on */
      "POST /v1/sandboxes/{id}/resume": {
        path: {
          id: string;
        };
        body?: Record<string, never>;
        answer: components["schemas"]["Sandbox"];
      };
      /** @description Put memory to disk and end the VM */
      "POST /v1/sandboxes/{id}/hibernate": {
        path: {
          id: string;
        };
        body?: components["schemas"]["HibernateBody"];
        answer: components["schemas"]["Sandbox"];
      };
      /** @description Bring a hibernated sandbox back */
      "POST /v1/sandboxes/{id}/wake": {
        path: {
          id: string;
        };
        body?: Record<string, never>;
        answer: components["schemas"]["WokenSandbox"];
      };
      /** @description Read how long a sandbox lives, and for how long it has been idle */
      "GET /v1/sandboxes/{id}/lifecycle": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Lifecycle"];
      };
      /** @description Change the time to live (counted from now), what happens at its end, persistence or the idle timeout */
      "PATCH /v1/sandboxes/{id}/lifecycle": {
        path: {
          id: string;
        };
        body?: components["schemas"]["LifecyclePatch"];
        answer: components["schemas"]["Lifecycle"];
      };
      /** @description Fork a sandbox: a child with its processes, files and memory */
      "POST /v1/sandboxes/{id}/fork": {
        path: {
          id: string;
        };
        body?: components["schemas"]["ForkBody"];
        answer: components["schemas"]["Fork"];
      };
      /** @description Fork a sandbox into several children, of which one may be promoted */
      "POST /v1/sandboxes/{id}/fork-tree": {
        path: {
          id: string;
        };
        body?: components["schemas"]["ForkTreeBody"];
        answer: components["schemas"]["ForkTree"];
      };
      /** @description Promote a child of a fork tree: it stays, its siblings are deleted */
      "POST /v1/sandboxes/{id}/promote": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PromoteBody"];
        answer: components["schemas"]["Promotion"];
      };
      /** @description Take a snapshot of a sandbox: memory, devices and disk of one instant */
      "POST /v1/sandboxes/{id}/snapshots": {
        path: {
          id: string;
        };
        body?: components["schemas"]["SnapshotBody"];
        answer: components["schemas"]["Snapshot"];
      };
      /** @description List snapshots, newest first */
      "GET /v1/snapshots": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          sandbox_id?: string;
          template?: string;
        };
        answer: components["schemas"]["Snapshot"][];
      };
      /** @description Read one snapshot */
      "GET /v1/snapshots/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Snapshot"];
      };
      /** @description Delete a snapshot */
      "DELETE /v1/snapshots/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List the ports of a sandbox: named ones, and those on which something listens */
      "GET /v1/sandboxes/{id}/ports": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Port"][];
      };
      /** @description Name a port of a sandbox */
      "POST /v1/sandboxes/{id}/ports": {
        path: {
          id: string;
        };
        body: components["schemas"]["PortBody"];
        answer: components["schemas"]["Port"];
      };
      /** @description Take the name of a port away */
      "DELETE /v1/sandboxes/{id}/ports": {
        path: {
          id: string;
        };
        query?: {
          port?: string;
        };
        body: components["schemas"]["PortToRemove"];
        answer: null;
      };
      /** @description Take the name of a port away */
      "DELETE /v1/sandboxes/{id}/ports/{port}": {
        path: {
          id: string;
          port: string;
        };
        answer: null;
      };
      /** @description Make a link that opens a port of a private sandbox */
      "POST /v1/sandboxes/{id}/ports/{port}/links": {
        path: {
          id: string;
          port: string;
        };
        body?: components["schemas"]["PreviewLinkBody"];
        answer: components["schemas"]["CreatedPreviewLink"];
      };
      /** @description List the links of a port, newest first */
      "GET /v1/sandboxes/{id}/ports/{port}/links": {
        path: {
          id: string;
          port: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
        };
        answer: components["schemas"]["PreviewLink"][];
      };
      /** @description Revoke a link of a port */
      "DELETE /v1/sandboxes/{id}/ports/{port}/links/{link_id}": {
        path: {
          id: string;
          port: string;
          link_id: string;
        };
        answer: null;
      };
      /** @description Read a file, or a range of it */
      "GET /v1/sandboxes/{id}/fs": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
        };
        answer: null;
      };
      /** @description Write a file: all of it, or nothing */
      "PUT /v1/sandboxes/{id}/fs": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
          mode?: string;
        };
        body?: unknown;
        answer: components["schemas"]["FileWritten"];
      };
      /** @description Delete a file, or with recursive a directory */
      "DELETE /v1/sandboxes/{id}/fs": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
          recursive?: boolean;
        };
        answer: null;
      };
      /** @description List a directory, with depth also the directories in it */
      "GET /v1/sandboxes/{id}/fs/dir": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
          depth?: number;
        };
        answer: components["schemas"]["FolderListing"];
      };
      /** @description What a path is; links are not followed */
      "GET /v1/sandboxes/{id}/fs/stat": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
        };
        answer: components["schemas"]["FileEntry"];
      };
      /** @description Make a directory, with parents also those above it */
      "POST /v1/sandboxes/{id}/fs/mkdir": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
          mode?: string;
          parents?: boolean;
        };
        answer: components["schemas"]["FileEntry"];
      };
      /** @description Rename a file or directory, within one file system */
      "POST /v1/sandboxes/{id}/fs/move": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
          to: string;
          overwrite?: boolean;
          parents?: boolean;
        };
        answer: components["schemas"]["FileEntry"];
      };
      /** @description Read the content of a directory as a tar stream */
      "GET /v1/sandboxes/{id}/fs/archive": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
        };
        answer: null;
      };
      /** @description Unpack a tar stream into a directory, which is made where it is missing, never outside of it */
      "PUT /v1/sandboxes/{id}/fs/archive": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
        };
        body?: unknown;
        answer: components["schemas"]["ArchiveUnpacked"];
      };
      /** @description Follow the changes in a directory (server-sent events created, modified, deleted, moved) */
      "GET /v1/sandboxes/{id}/fs/watch": {
        path: {
          id: string;
        };
        query: {
          user?: string;
          owner?: string;
          path: string;
          recursive?: boolean;
        };
        answer: null;
        event: components["schemas"]["FileChange"];
      };
      /** @description Run code in a context that keeps its state, and follow its output and results */
      "POST /v1/sandboxes/{id}/code": {
        path: {
          id: string;
        };
        body: components["schemas"]["CodeBody"];
        answer: null;
        event: components["schemas"]["CodeEvent"];
      };
      /** @description List the contexts */
      "GET /v1/sandboxes/{id}/code/contexts": {
        path: {
          id: string;
        };
        answer: components["schemas"]["CodeContext"][];
      };
      /** @description Make a context */
      "POST /v1/sandboxes/{id}/code/contexts": {
        path: {
          id: string;
        };
        body?: components["schemas"]["NewCodeContext"];
        answer: components["schemas"]["CodeContext"];
      };
      /** @description End a context and what runs in it */
      "DELETE /v1/sandboxes/{id}/code/contexts/{context_id}": {
        path: {
          id: string;
          context_id: string;
        };
        answer: null;
      };
      /** @description Start a context anew, without its state */
      "POST /v1/sandboxes/{id}/code/contexts/{context_id}/restart": {
        path: {
          id: string;
          context_id: string;
        };
        answer: components["schemas"]["CodeContext"];
      };
      /** @description Interrupt the code that runs in a context */
      "POST /v1/sandboxes/{id}/code/contexts/{context_id}/interrupt": {
        path: {
          id: string;
          context_id: string;
        };
        answer: components["schemas"]["CodeContext"];
      };
      /** @description Run a command and follow its output */
      "POST /v1/sandboxes/{id}/exec/stream": {
        path: {
          id: string;
        };
        body: components["schemas"]["ExecBody"];
        answer: null;
        event: components["schemas"]["ExecEvent"];
      };
      /** @description Run many commands on one WebSocket */
      "GET /v1/sandboxes/{id}/exec/ws": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Open a terminal on a WebSocket */
      "GET /v1/sandboxes/{id}/exec/pty": {
        path: {
          id: string;
        };
        query?: {
          rows?: number;
          cols?: number;
          cmd?: string | null;
          user?: string | null;
          cwd?: string | null;
          session?: string | null;
        };
        answer: null;
      };
      /** @description Talk to a language server on a WebSocket */
      "GET /v1/sandboxes/{id}/lsp/{lang}": {
        path: {
          id: string;
          lang: string;
        };
        query?: {
          cwd?: string | null;
          user?: string | null;
        };
        answer: null;
      };
      /** @description Read the events of a sandbox, or follow them (server-sent events named ev) */
      "GET /v1/sandboxes/{id}/events": {
        path: {
          id: string;
        };
        query?: {
          tail?: number;
          follow?: boolean;
          since?: string;
        };
        answer: components["schemas"]["Event"][];
        event: components["schemas"]["Event"];
      };
      /** @description Read the log of a sandbox as text or JSON, or follow it (server-sent events named line) */
      "GET /v1/sandboxes/{id}/logs": {
        path: {
          id: string;
        };
        query?: {
          /**
           * @default both
           * @enum {string}
           */
          stream?: "stdout" | "stderr" | "both";
          tail?: number;
          follow?: boolean;
        };
        answer: components["schemas"]["LogLine"][];
        event: components["schemas"]["LogLine"];
      };
      /** @description What a sandbox uses of CPU, memory, disk and network, now and over the last hour */
      "GET /v1/sandboxes/{id}/metrics": {
        path: {
          id: string;
        };
        query?: {
          since?: string;
          step?: number;
        };
        answer: components["schemas"]["SandboxMetrics"];
      };
      /** @description List background commands */
      "GET /v1/sandboxes/{id}/execs": {
        path: {
          id: string;
        };
        answer: components["schemas"]["BackgroundExec"][];
      };
      /** @description One background command */
      "GET /v1/sandboxes/{id}/execs/{exec_id}": {
        path: {
          id: string;
          exec_id: string;
        };
        answer: components["schemas"]["BackgroundExec"];
      };
      /** @description End a background command and drop its output */
      "DELETE /v1/sandboxes/{id}/execs/{exec_id}": {
        path: {
          id: string;
          exec_id: string;
        };
        answer: null;
      };
      /** @description Follow the output of a background command */
      "GET /v1/sandboxes/{id}/execs/{exec_id}/stream": {
        path: {
          id: string;
          exec_id: string;
        };
        query?: {
          offset?: number | null;
          /** @enum {string} */
          encoding?: "utf8" | "base64";
        };
        answer: null;
        event: components["schemas"]["ExecEvent"];
      };
      /** @description Signal a background command */
      "POST /v1/sandboxes/{id}/execs/{exec_id}/signal": {
        path: {
          id: string;
          exec_id: string;
        };
        body: components["schemas"]["SignalBody"];
        answer: components["schemas"]["BackgroundExec"];
      };
      /** @description Give a background command input, or close its input */
      "POST /v1/sandboxes/{id}/execs/{exec_id}/stdin": {
        path: {
          id: string;
          exec_id: string;
        };
        body: components["schemas"]["StdinBody"];
        answer: components["schemas"]["BackgroundExec"];
      };
      /** @description Change the size of the terminal of a background command */
      "POST /v1/sandboxes/{id}/execs/{exec_id}/resize": {
        path: {
          id: string;
          exec_id: string;
        };
        body: components["schemas"]["ResizeBody"];
        answer: components["schemas"]["BackgroundExec"];
      };
      /** @description Wait for the end of a background command */
      "GET /v1/sandboxes/{id}/execs/{exec_id}/wait": {
        path: {
          id: string;
          exec_id: string;
        };
        query?: {
          timeout_seconds?: number;
        };
        answer: components["schemas"]["BackgroundExec"];
      };
      /** @description List languages with a server */
      "GET /v1/lsp/languages": {
        answer: ("python" | "typescript" | "javascript" | "json" | "html" | "css" | "bash")[];
      };
      /** @description Read the events of 90 days, newest first, or follow them (server-sent events) */
      "GET /v1/events": {
        query?: {
          limit?: number;
          cursor?: string;
          type?: string;
          sandbox_id?: string;
          object?: string;
          /** Format: date-time */
          from?: string;
          /** Format: date-time */
          to?: string;
          since?: string;
          tail?: number;
          follow?: boolean;
        };
        answer: components["schemas"]["WorkspaceEvent"][];
        event: string;
      };
      /** @description Create a PostgreSQL 16 database in a machine of its own */
      "POST /v1/databases": {
        body?: components["schemas"]["CreateDatabaseBody"];
        answer: components["schemas"]["Database"];
      };
      /** @description List databases, newest first */
      "GET /v1/databases": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          label?: string;
          /** @enum {string} */
          size?: "1g" | "4g" | "16g";
          /** @enum {string} */
          status?: "provisioning" | "running" | "hibernated" | "failed";
        };
        answer: components["schemas"]["DatabaseSummary"][];
      };
      /** @description Read one database */
      "GET /v1/databases/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Database"];
      };
      /** @description Change the label of a database, make its disk larger, or change when it sleeps */
      "PATCH /v1/databases/{id}": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PatchDatabaseBody"];
        answer: components["schemas"]["Database"];
      };
      /** @description Delete a database and all that is in it */
      "DELETE /v1/databases/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Read what opens a database */
      "GET /v1/databases/{id}/connection": {
        path: {
          id: string;
        };
        answer: components["schemas"]["DatabaseConnection"];
      };
      /** @description Branch a database: another one with all its data */
      "POST /v1/databases/{id}/branch": {
        path: {
          id: string;
        };
        body?: components["schemas"]["BranchDatabaseBody"];
        answer: components["schemas"]["Database"];
      };
      /** @description Make another database, as this one was at a time since its oldest backup */
      "POST /v1/databases/{id}/restore": {
        path: {
          id: string;
        };
        body: components["schemas"]["RestoreDatabaseBody"];
        answer: components["schemas"]["Database"];
      };
      /** @description Back up a database as it is at this instant */
      "POST /v1/databases/{id}/backups": {
        path: {
          id: string;
        };
        answer: components["schemas"]["DatabaseBackup"];
      };
      /** @description List the backups of a database, newest first */
      "GET /v1/databases/{id}/backups": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          origin?: "request" | "daily";
          /** @enum {string} */
          verified?: "pending" | "ok" | "failed";
        };
        answer: components["schemas"]["DatabaseBackup"][];
      };
      /** @description Delete a backup */
      "DELETE /v1/databases/{id}/backups/{backup}": {
        path: {
          id: string;
          backup: string;
        };
        answer: null;
      };
      /** @description Give a database another password and broker token */
      "POST /v1/databases/{id}/reset-credentials": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Database"];
      };
      /** @description Read how large and how busy a database is */
      "GET /v1/databases/{id}/stats": {
        path: {
          id: string;
        };
        answer: components["schemas"]["DatabaseStats"];
      };
      /** @description Read the log of a database as text or JSON, or follow it (server-sent events named line) */
      "GET /v1/databases/{id}/logs": {
        path: {
          id: string;
        };
        query?: {
          /**
           * @default both
           * @enum {string}
           */
          stream?: "stdout" | "stderr" | "both";
          tail?: number;
          follow?: boolean;
        };
        answer: components["schemas"]["LogLine"][];
      };
      /** @description SQL over HTTP, with the broker token: v1/health, v1/info, v1/query, v1/exec, v1/transaction, sql */
      "GET /v1/databases/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description SQL over HTTP, with the broker token: v1/health, v1/info, v1/query, v1/exec, v1/transaction, sql */
      "POST /v1/databases/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description SQL over HTTP, with the broker token: v1/health, v1/info, v1/query, v1/exec, v1/transaction, sql */
      "PUT /v1/databases/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description SQL over HTTP, with the broker token: v1/health, v1/info, v1/query, v1/exec, v1/transaction, sql */
      "PATCH /v1/databases/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description SQL over HTTP, with the broker token: v1/health, v1/info, v1/query, v1/exec, v1/transaction, sql */
      "DELETE /v1/databases/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description Create an app of a git repository */
      "POST /v1/apps": {
        body: components["schemas"]["CreateAppBody"];
        answer: components["schemas"]["App"];
      };
      /** @description List apps, newest first */
      "GET /v1/apps": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          /** @enum {string} */
          status?: "created" | "building" | "running" | "hibernated" | "error";
          git_url?: string;
          git_branch?: string;
        };
        answer: components["schemas"]["App"][];
      };
      /** @description Read one app */
      "GET /v1/apps/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["App"];
      };
      /** @description Change an app */
      "PATCH /v1/apps/{id}": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PatchAppBody"];
        answer: components["schemas"]["App"];
      };
      /** @description Delete an app and everything that runs for it */
      "DELETE /v1/apps/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List the previews of an app’s pull requests */
      "GET /v1/apps/{id}/previews": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          name?: string;
          /** @enum {string} */
          status?: "created" | "building" | "running" | "hibernated" | "error";
          git_url?: string;
          git_branch?: string;
        };
        answer: components["schemas"]["App"][];
      };
      /** @description Serve an app at a domain of one’s own, or look for its DNS record again */
      "POST /v1/apps/{id}/domains": {
        path: {
          id: string;
        };
        body: components["schemas"]["PostAppDomainBody"];
        answer: components["schemas"]["AppDomain"];
      };
      /** @description List the domains of an app */
      "GET /v1/apps/{id}/domains": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          domain?: string;
          /** @enum {string} */
          status?: "pending" | "verified";
        };
        answer: components["schemas"]["AppDomain"][];
      };
      /** @description Take a domain from an app */
      "DELETE /v1/apps/{id}/domains": {
        path: {
          id: string;
        };
        query?: {
          domain?: string;
        };
        body: components["schemas"]["AppDomainBody"];
        answer: null;
      };
      /** @description Take a domain from an app */
      "DELETE /v1/apps/{id}/domains/{domain}": {
        path: {
          id: string;
          domain: string;
        };
        answer: null;
      };
      /** @description Forget the certificate that was given for a domain */
      "DELETE /v1/apps/{id}/domains/{domain}/certificate": {
        path: {
          id: string;
          domain: string;
        };
        answer: null;
      };
      /** @description Make a link that opens a private app */
      "POST /v1/apps/{id}/links": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PreviewLinkBody"];
        answer: components["schemas"]["CreatedPreviewLink"];
      };
      /** @description List the links of an app, newest first */
      "GET /v1/apps/{id}/links": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
        };
        answer: components["schemas"]["PreviewLink"][];
      };
      /** @description Revoke a link of an app */
      "DELETE /v1/apps/{id}/links/{link_id}": {
        path: {
          id: string;
          link_id: string;
        };
        answer: null;
      };
      /** @description Deploy a branch, a tag or a commit of an app */
      "POST /v1/apps/{id}/deploys": {
        path: {
          id: string;
        };
        body?: components["schemas"]["DeployBody"];
        answer: components["schemas"]["Deployment"];
      };
      /** @description List the deploys of an app, newest first */
      "GET /v1/apps/{id}/deploys": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          status?: "queued" | "building" | "deploying" | "live" | "failed" | "superseded";
          git_ref?: string;
          git_commit?: string;
        };
        answer: components["schemas"]["Deployment"][];
      };
      /** @description Read one deploy with the log of its build */
      "GET /v1/apps/{id}/deploys/{deployment_id}": {
        path: {
          id: string;
          deployment_id: string;
        };
        answer: components["schemas"]["DeploymentWithLogs"];
      };
      /** @description Read the log of a build as text, or follow it (server-sent events, the last one named done) */
      "GET /v1/apps/{id}/deploys/{deployment_id}/logs": {
        path: {
          id: string;
          deployment_id: string;
        };
        query?: {
          follow?: boolean;
        };
        answer: null;
        event: string;
      };
      /** @description Cancel a deploy that is under way */
      "POST /v1/apps/{id}/deploys/{deployment_id}/cancel": {
        path: {
          id: string;
          deployment_id: string;
        };
        answer: components["schemas"]["Deployment"];
      };
      /** @description Go back to the deploy before, or to the one that is named */
      "POST /v1/apps/{id}/rollback": {
        path: {
          id: string;
        };
        body?: components["schemas"]["RollbackBody"];
        answer: components["schemas"]["Deployment"];
      };
      /** @description Read what an app says as text, or follow it (server-sent events, the last one named done) */
      "GET /v1/apps/{id}/runtime-logs": {
        path: {
          id: string;
        };
        query?: {
          follow?: boolean;
        };
        answer: null;
        event: string;
      };
      /** @description Begin to connect the git provider */
      "GET /v1/gitprovider/connect": {
        answer: {
          url: string;
        };
      };
      /** @description Record an installation of the git provider’s app, and go on to the service’s own page */
      "GET /v1/gitprovider/callback": {
        query: {
          installation_id: string;
          setup_action?: string;
          state: string;
        };
        answer: null;
      };
      /** @description List installations, newest first */
      "GET /v1/gitprovider/installations": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          account_login?: string;
        };
        answer: components["schemas"]["GitInstallation"][];
      };
      /** @description Let go of an installation */
      "DELETE /v1/gitprovider/installations/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List the repositories that an installation opens */
      "GET /v1/gitprovider/repos": {
        query: {
          installation_id: string;
        };
        answer: components["schemas"]["GitRepository"][];
      };
      /** @description Take an event of the git provider, signed by it */
      "POST /v1/webhooks/gitprovider": {
        answer: {
          /** @constant */
          ok: true;
        };
      };
      /** @description Begin to connect the git provider */
      "GET /v1/github/connect": {
        answer: {
          url: string;
        };
      };
      /** @description Record an installation of the git provider’s app, and go on to the service’s own page */
      "GET /v1/github/callback": {
        query: {
          installation_id: string;
          setup_action?: string;
          state: string;
        };
        answer: null;
      };
      /** @description List installations, newest first */
      "GET /v1/github/installations": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          account_login?: string;
        };
        answer: components["schemas"]["GitInstallation"][];
      };
      /** @description Let go of an installation */
      "DELETE /v1/github/installations/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description List the repositories that an installation opens */
      "GET /v1/github/repos": {
        query: {
          installation_id: string;
        };
        answer: components["schemas"]["GitRepository"][];
      };
      /** @description Take an event of the git provider, signed by it */
      "POST /v1/webhooks/github": {
        answer: {
          /** @constant */
          ok: true;
        };
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "GET /v1/apps/{id}/proxy": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "POST /v1/apps/{id}/proxy": {
        path: {
          id: string;
        };
        body?: unknown;
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "PUT /v1/apps/{id}/proxy": {
        path: {
          id: string;
        };
        body?: unknown;
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "PATCH /v1/apps/{id}/proxy": {
        path: {
          id: string;
        };
        body?: unknown;
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "DELETE /v1/apps/{id}/proxy": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "GET /v1/apps/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "POST /v1/apps/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        body?: unknown;
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "PUT /v1/apps/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        body?: unknown;
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "PATCH /v1/apps/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        body?: unknown;
        answer: null;
      };
      /** @description Ask the version of the app that serves; also for WebSockets */
      "DELETE /v1/apps/{id}/proxy/{path}": {
        path: {
          id: string;
          path: string;
        };
        answer: null;
      };
      /** @description Create a webhook; the answer shows its secret once */
      "POST /v1/webhooks": {
        body: components["schemas"]["CreateWebhookBody"];
        answer: components["schemas"]["WebhookWithSecret"];
      };
      /** @description List webhooks, newest first */
      "GET /v1/webhooks": {
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          enabled?: "true" | "false";
        };
        answer: components["schemas"]["Webhook"][];
      };
      /** @description Read one webhook */
      "GET /v1/webhooks/{id}": {
        path: {
          id: string;
        };
        answer: components["schemas"]["Webhook"];
      };
      /** @description Change a webhook, disable or enable it */
      "PATCH /v1/webhooks/{id}": {
        path: {
          id: string;
        };
        body?: components["schemas"]["PatchWebhookBody"];
        answer: components["schemas"]["Webhook"];
      };
      /** @description Delete a webhook and its deliveries */
      "DELETE /v1/webhooks/{id}": {
        path: {
          id: string;
        };
        answer: null;
      };
      /** @description Give a webhook a new secret; the old one signs for a while, too */
      "POST /v1/webhooks/{id}/rotate-secret": {
        path: {
          id: string;
        };
        body?: components["schemas"]["RotateSecretBody"];
        answer: components["schemas"]["WebhookWithSecret"];
      };
      /** @description List the deliveries of a webhook, newest first */
      "GET /v1/webhooks/{id}/deliveries": {
        path: {
          id: string;
        };
        query?: {
          limit?: number;
          cursor?: string;
          /** Format: date-time */
          created_after?: string;
          /** Format: date-time */
          created_before?: string;
          /** @enum {string} */
          status?: "pending" | "delivered" | "failed";
          type?: string;
        };
        answer: components["schemas"]["WebhookDelivery"][];
      };
      /** @description Read one delivery with its body and its attempts */
      "GET /v1/webhooks/{id}/deliveries/{delivery_id}": {
        path: {
          id: string;
          delivery_id: string;
        };
        answer: components["schemas"]["WebhookDeliveryDetails"];
      };
      /** @description Send a delivery again */
      "POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver": {
        path: {
          id: string;
          delivery_id: string;
        };
        answer: components["schemas"]["WebhookDelivery"];
      };
      /** @description Send all failed deliveries since a time again */
      "POST /v1/webhooks/{id}/redeliver": {
        path: {
          id: string;
        };
        body: components["schemas"]["RedeliverBody"];
        answer: components["schemas"]["Redelivered"];
      };
      /** @description Send a message of the type webhook.test */
      "POST /v1/webhooks/{id}/test": {
        path: {
          id: string;
        };
        answer: components["schemas"]["WebhookDelivery"];
      };
      /** @description Call tools by the Model Context Protocol */
      "POST /mcp": {
        body: {
          /** @constant */
          jsonrpc: "2.0";
        } & {
          [key: string]: unknown;
        };
        answer: {
          [key: string]: unknown;
        };
        event: string;
      };
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
export type Routes = components['schemas']['Routes'];
