# As VS Code's Remote-SSH begins: starts a server that outlives this shell, and prints its port.
mkdir -p ~/.vscode-server && cd ~/.vscode-server
cat > server.py <<'END'
import socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(b"server " + self.rfile.readline())
server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
END
setsid nohup python3 server.py > log 2>&1 < /dev/null &
while ! test -s log; do sleep 0.1; done
echo "listeningOn==$(cat log)=="
