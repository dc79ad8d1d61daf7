package kcpgo

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/kcp-go/v5"
)

// Listen opens a listener and prints its address.
func (s *Settings) Listen(address string) (*kcp.Listener, error) {
	cipher, err := newCipher(s.Crypt, s.Key)
	if err != nil {
		return nil, err
	}
	listener, err := kcp.ListenWithOptions(address, cipher, s.DataShards, s.ParityShards)
	if err != nil {
		return nil, err
	}
	if err := SetBuffers(listener, s.SockBuf); err != nil {
		return nil, err
	}
	fmt.Printf("listening %v\n", listener.Addr())
	return listener, nil
}

// Accept waits for the next session.
func (s *Settings) Accept(listener *kcp.Listener) (*kcp.UDPSession, error) {
	session, err := listener.AcceptKCP()
	if err != nil {
		return nil, err
	}
	return session, s.apply(session)
}

// Serve passes every session to a goroutine of its own. With a count other than 0 it returns when
// that many sessions have ended.
func (s *Settings) Serve(address string, count int, handle func(*kcp.UDPSession)) error {
	listener, err := s.Listen(address)
	if err != nil {
		return err
	}
	var handlers sync.WaitGroup
	defer func() {
		handlers.Wait()
		cli.PrintJSON(CountersNow())
	}()
	for accepted := 0; count == 0 || accepted < count; accepted++ {
		session, err := s.Accept(listener)
		if err != nil {
			return err
		}
		handlers.Add(1)
		go func() {
			defer handlers.Done()
			defer session.Close()
			handle(session)
		}()
	}
	return nil
}

// Dial opens a session on a socket of its own.
func (s *Settings) Dial(address string) (*kcp.UDPSession, error) {
	cipher, err := newCipher(s.Crypt, s.Key)
	if err != nil {
		return nil, err
	}
	session, err := kcp.DialWithOptions(address, cipher, s.DataShards, s.ParityShards)
	if err != nil {
		return nil, err
	}
	return session, errors.Join(s.apply(session), SetBuffers(session, s.SockBuf))
}

func (s *Settings) apply(session *kcp.UDPSession) error {
	session.SetNoDelay(s.NoDelay, s.Interval, s.Resend, s.NC)
	session.SetWindowSize(s.SndWnd, s.RcvWnd)
	if !session.SetMtu(s.MTU) {
		return cli.UsageErrorf("--mtu %d: too small for the headers of cipher and FEC", s.MTU)
	}
	session.SetACKNoDelay(s.AckNoDelay)
	session.SetWriteDelay(s.WriteDelay)
	session.SetStreamMode(s.Stream)
	return nil
}

// Linger lets the last acknowledgements leave: kcp-go sends them at its interval, and its Close
// does not wait for them.
func (s *Settings) Linger() {
	time.Sleep(2 * time.Duration(max(s.Interval, 10)) * time.Millisecond)
}

type buffered interface {
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// SetBuffers sets the sizes of a socket's buffers.
func SetBuffers(socket buffered, bytes int) error {
	if err := socket.SetReadBuffer(bytes); err != nil {
		return err
	}
	return socket.SetWriteBuffer(bytes)
}

// CloseWhenQuiet closes a session once its count of bytes has not changed for the given time: KCP
// has no end of a session on the wire. A read deadline would cost the reader a timer per read.
func CloseWhenQuiet(session *kcp.UDPSession, bytes *atomic.Int64, quiet time.Duration) {
	ticker := time.NewTicker(quiet / 4)
	defer ticker.Stop()
	last, since := int64(-1), time.Now()
	for now := range ticker.C {
		if n := bytes.Load(); n != last {
			last, since = n, now
		} else if now.Sub(since) >= quiet {
			session.Close()
			return
		}
	}
}
