package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
	"github.com/xtaci/smux"
)

// smuxSettings are those of a session of smux, and of what it runs over.
type smuxSettings struct {
	transport string
	session   kcpgo.Settings
	mux       kcpgo.MuxSettings
}

// flags declares flags whose defaults are those of smux, but for the version.
func (s *smuxSettings) flags(flags *flag.FlagSet) {
	flags.StringVar(&s.transport, "transport", "tcp", "what smux runs over: `tcp` or kcp")
	s.session.SessionFlags(flags)
	s.mux = kcpgo.MuxSettings{
		Version: 2, ReceiveBuffer: 4 << 20, StreamBuffer: 64 << 10, FrameSize: 32 << 10, KeepAlive: 10,
	}
	s.mux.Flags(flags)
}

func (s *smuxSettings) check() error {
	var err error
	if s.transport != "tcp" && s.transport != "kcp" {
		err = cli.UsageErrorf("--transport %q: expected tcp or kcp", s.transport)
	}
	return errors.Join(err, s.session.CheckSession(), s.mux.Check())
}

// serve passes every session to a goroutine of its own, until the listener fails.
func (s *smuxSettings) serve(address string, handle func(*smux.Session)) error {
	if s.transport == "kcp" {
		return s.session.Serve(address, 0, func(conn *kcp.UDPSession) { s.answer(conn, handle) })
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening %v\n", listener.Addr())
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go s.answer(conn, handle)
	}
}

func (s *smuxSettings) answer(conn io.ReadWriteCloser, handle func(*smux.Session)) {
	session, err := smux.Server(conn, s.mux.Config())
	if err != nil {
		conn.Close()
		return
	}
	defer session.Close()
	handle(session)
}

func (s *smuxSettings) dial(remote string) (*smux.Session, error) {
	conn, err := s.dialTransport(remote)
	if err != nil {
		return nil, err
	}
	return smux.Client(conn, s.mux.Config())
}

func (s *smuxSettings) dialTransport(remote string) (io.ReadWriteCloser, error) {
	if s.transport == "kcp" {
		return s.session.Dial(remote)
	}
	return net.Dial("tcp", remote)
}

// hangUp lets what was sent last reach the peer before the session is closed.
func (s *smuxSettings) hangUp(session *smux.Session) {
	if s.transport == "kcp" {
		s.session.Linger()
	}
	session.Close()
}

// awaitNone waits until the count is 0, at most for the given time.
func awaitNone(count *atomic.Int64, most time.Duration) {
	for end := time.Now().Add(most); count.Load() > 0 && time.Now().Before(end); {
		time.Sleep(pollTime)
	}
}
