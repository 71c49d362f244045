# An agent on each node of the class offshoot-host (docs/kubernetes.md). Nomad's Docker driver must allow privileged
# containers and volumes. A node that has not joined yet finds its token in the Nomad variable nomad/jobs/offshoot-agent,
# under the node's name.

variable "image" {
  type    = string
  default = "offshoot:0.1.0"
}

variable "public_url" {
  type = string
}

job "offshoot-agent" {
  type = "system"

  constraint {
    attribute = "${node.class}"
    value     = "offshoot-host"
  }

  # The end of an agent's container ends the VMs of its node. Cordon the hosts before you run a changed job.
  group "agent" {
    network {
      mode = "host"

      port "agent" {
        static = 7443
      }
    }

    # The agent serves only control and edges, over mutual TLS, so the check only connects.
    service {
      name     = "offshoot-agent"
      provider = "nomad"
      port     = "agent"

      check {
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "agent" {
      driver       = "docker"
      kill_timeout = "90s"

      config {
        image        = var.image
        network_mode = "host"
        # Jails, TAPs, nftables, control groups and /dev/kvm.
        privileged = true
        volumes = [
          "/var/lib/offshoot:/var/lib/offshoot",
          # Which slots of the node's network the agent has taken. TAPs outlive the container.
          "/run/offshoot:/run/offshoot",
          # Otherwise the agent would see the groups of its container only.
          "/sys/fs/cgroup:/sys/fs/cgroup",
        ]
        # tini reaps the processes that outlive an agent.
        entrypoint = ["/usr/bin/tini", "--", "/opt/offshoot/bin/up"]
        args = [
          "--yes",
          "--data-dir",
          "/var/lib/offshoot/data",
          "--accelerator",
          "auto",
          "--join",
          "${var.public_url}",
          "--host-address",
          "${attr.unique.network.ip-address}:7443",
        ]
      }

      template {
        destination = "secrets/join.env"
        env         = true
        # A node that has joined needs no token, so a change of the variable is no reason for a restart.
        change_mode = "noop"
        data        = <<-ENV
          {{ if nomadVarExists "nomad/jobs/offshoot-agent" }}{{ with nomadVar "nomad/jobs/offshoot-agent" }}
          OFFSHOOT_JOIN_TOKEN={{ with index . (env "node.unique.name") }}{{ .Value }}{{ end }}
          {{ end }}{{ end }}
        ENV
      }

      # VMs are in a control group of their own, beside that of the container.
      resources {
        cpu    = 1000
        memory = 4096
      }
    }
  }
}
