package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// A fileServer serves the files of a directory by HTTP.
type fileServer interface {
	address() string
	close()
}

// The servers that can be chosen.
const (
	nginx  = "nginx"
	goHTTP = "go"
)

// chooseFileServer returns nginx if it is installed and nothing else was chosen.
func chooseFileServer(chosen string) (string, error) {
	_, err := exec.LookPath(nginx)
	switch {
	case chosen == goHTTP, chosen == "" && err != nil:
		return goHTTP, nil
	case chosen == nginx, chosen == "":
		return nginx, err
	}
	return "", cli.UsageErrorf("--http %q: expected %s or %s", chosen, nginx, goHTTP)
}

func newFileServer(kind, directory string) (fileServer, error) {
	if kind == nginx {
		return newNginx(directory)
	}
	return newGoFileServer(directory)
}

// A goFileServer is that of net/http: http.ServeContent of each file.
type goFileServer struct {
	listener net.Listener
}

func newGoFileServer(directory string) (*goFileServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(listener, http.FileServer(http.Dir(directory)))
	return &goFileServer{listener}, nil
}

func (s *goFileServer) address() string { return s.listener.Addr().String() }
func (s *goFileServer) close()          { s.listener.Close() }

// An nginxServer is a process of nginx, without workers.
type nginxServer struct {
	local   string
	process *exec.Cmd
}

const nginxConfiguration = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  sendfile on;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen %s;
    root %s;
  }
}
`

func newNginx(directory string) (*nginxServer, error) {
	local, err := freeAddress()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(directory, "nginx.conf")
	configuration := fmt.Sprintf(nginxConfiguration, local, directory)
	if err := os.WriteFile(file, []byte(configuration), 0o644); err != nil {
		return nil, err
	}
	s := &nginxServer{local, exec.Command(nginx, "-p", directory, "-e", "stderr", "-c", file)}
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	if err := awaitServer(local); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *nginxServer) address() string { return s.local }

func (s *nginxServer) close() {
	s.process.Process.Kill()
	s.process.Wait()
}

// freeAddress has a port of loopback that was free: nginx cannot let the system choose.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func awaitServer(address string) error {
	const patience, pause = 10 * time.Second, 20 * time.Millisecond
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return err
		}
	}
}
