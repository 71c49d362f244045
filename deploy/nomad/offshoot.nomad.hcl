# Control and the edge (docs/kubernetes.md). Its secrets are in the Nomad variable nomad/jobs/offshoot.

variable "image" {
  type    = string
  default = "offshoot:0.1.0"
}

# Where users, edges and hosts reach the API: a proxy of yours that ends TLS and leads to the service offshoot-control.
variable "public_url" {
  type = string
}

variable "postgresql_host" {
  type = string
}

# Where visitors reach previews and apps: PORT-ID.SUFFIX.
variable "preview_suffix" {
  type = string
}

# Where clients reach databases and the SSH gateway.
variable "edge_host" {
  type = string
}

job "offshoot" {
  type = "service"

  group "control" {
    count = 2

    # An older control process does not know the schema of a newer one, so none is kept beside it for long.
    update {
      max_parallel = 2
    }

    network {
      port "http" {
        to = 8080
      }
    }

    service {
      name     = "offshoot-control"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/healthz"
        interval = "5s"
        timeout  = "4s"
      }
    }

    task "control" {
      driver       = "docker"
      kill_timeout = "30s"

      config {
        image = var.image
        ports = ["http"]
        entrypoint = [
          "/opt/offshoot/node_modules/.bin/node",
          "--scavenger-max-new-space-capacity-mb=4",
          "--no-concurrent-array-buffer-sweeping",
          "/opt/offshoot/services/control.js",
          "/secrets/control.json",
        ]
      }

      env {
        # PostgreSQL's client reads it: encrypt connections and verify the server's certificate.
        PGSSLMODE = "verify-full"
      }

      template {
        destination = "secrets/control.json"
        perms       = "0600"
        data        = <<-JSON
          {{ with nomadVar "nomad/jobs/offshoot" }}
          {
            "listen": { "host": "0.0.0.0", "port": 8080 },
            "public_url": "${var.public_url}",
            "database": {
              "host": "${var.postgresql_host}",
              "port": 5432,
              "user": "offshoot",
              "database": "offshoot",
              "password": {{ .postgresql_password.Value | toJSON }}
            },
            "agents": [],
            "edge_secret": {{ .edge_secret.Value | toJSON }},
            "operator_key_sha256": {{ .operator_key_sha256.Value | toJSON }},
            "sign_up": "invitation",
            "preview": { "scheme": "https", "port": 443, "suffix": "${var.preview_suffix}" },
            "databases": { "host": "${var.edge_host}", "port": 5432, "suffix": null },
            "ssh": { "host": "${var.edge_host}", "port": 22 },
            "data_dir": "/secrets/control",
            "console_dir": "/opt/offshoot/console",
            "docs_dir": "/opt/offshoot/docs",
            "commit": "${var.image}"
          }
          {{ end }}
        JSON
      }

      template {
        destination = "secrets/control/accounts-secret"
        perms       = "0600"
        data        = "{{ with nomadVar \"nomad/jobs/offshoot\" }}{{ .accounts_secret }}{{ end }}"
      }

      resources {
        cpu        = 500
        memory     = 512
        memory_max = 1024
      }
    }
  }

  # Its ports are fixed, so that names and balancers can lead to it. Each node has one at most.
  group "edge" {
    count = 1

    network {
      port "http" {
        static = 80
        to     = 8081
      }

      port "https" {
        static = 443
        to     = 8081
      }

      port "databases" {
        static = 5432
        to     = 5433
      }

      # Port 22 is usually that of the node.
      port "ssh" {
        static = 2222
        to     = 2222
      }
    }

    service {
      name     = "offshoot-edge"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/healthz"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "edge" {
      driver       = "docker"
      kill_timeout = "30s"

      config {
        image = var.image
        ports = ["http", "https", "databases", "ssh"]
        entrypoint = [
          "/opt/offshoot/node_modules/.bin/node",
          "--scavenger-max-new-space-capacity-mb=4",
          "--no-concurrent-array-buffer-sweeping",
          "/opt/offshoot/services/edge.js",
          "/secrets/edge.json",
        ]
      }

      template {
        destination = "secrets/edge.json"
        perms       = "0600"
        data        = <<-JSON
          {{ with nomadVar "nomad/jobs/offshoot" }}
          {
            "listen": { "host": "0.0.0.0", "port": 8081 },
            "suffix": "${var.preview_suffix}",
            "databases": { "listen": { "host": "0.0.0.0", "port": 5433 }, "suffix": null },
            "ssh": { "listen": { "host": "0.0.0.0", "port": 2222 } },
            "agents": [],
            "control": {
              "url": "${var.public_url}",
              "public_url": "${var.public_url}",
              "secret": {{ .edge_secret.Value | toJSON }}
            },
            "certificate": { "cert": "/secrets/tls.crt", "key": "/secrets/tls.key" },
            "data_dir": "/local/edge"
          }
          {{ end }}
        JSON
      }

      # The edge reads them again when they change.
      template {
        destination = "secrets/tls.crt"
        perms       = "0600"
        change_mode = "noop"
        data        = "{{ with nomadVar \"nomad/jobs/offshoot\" }}{{ .preview_certificate }}{{ end }}"
      }

      template {
        destination = "secrets/tls.key"
        perms       = "0600"
        change_mode = "noop"
        data        = "{{ with nomadVar \"nomad/jobs/offshoot\" }}{{ .preview_key }}{{ end }}"
      }

      resources {
        cpu        = 500
        memory     = 256
        memory_max = 1024
      }
    }
  }
}
