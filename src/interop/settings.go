package main

import (
	"errors"
	"flag"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/xtaci/kcp-go/v5"
)

// settings are those of a kcp-go session, named as kcptun names them.
type settings struct {
	noDelay, interval, resend, nc int
	sndWnd, rcvWnd                int
	mtu                           int
	ackNoDelay, writeDelay        bool
	stream                        bool
	sockBuf                       int
	crypt, key                    string
	dataShards, parityShards      int
}

// arqFlags declares what kcp-go's raw KCP type knows as well.
func (s *settings) arqFlags(flags *flag.FlagSet) {
	flags.IntVar(&s.noDelay, "nodelay", 1, "1: timeouts grow by half and are at least 30 ms; 0: they double, at least 100 ms")
	flags.IntVar(&s.interval, "interval", 20, "flush interval in `ms`, 10 to 5000")
	flags.IntVar(&s.resend, "resend", 2, "fast resend after that many later ACKs; 0: never")
	flags.IntVar(&s.nc, "nc", 1, "1: no congestion control")
	flags.IntVar(&s.sndWnd, "sndwnd", 256, "send window in `segments`")
	flags.IntVar(&s.rcvWnd, "rcvwnd", 256, "receive window in `segments`")
	flags.IntVar(&s.mtu, "mtu", 1400, "largest UDP payload in `bytes`, 50 to 1500")
	flags.IntVar(&s.sockBuf, "sockbuf", 4<<20, "socket buffers in `bytes`")
}

// sessionFlags declares all of them.
func (s *settings) sessionFlags(flags *flag.FlagSet) {
	s.arqFlags(flags)
	flags.BoolVar(&s.ackNoDelay, "acknodelay", false, "acknowledge every datagram at once")
	flags.BoolVar(&s.writeDelay, "writedelay", false, "let writes wait for the interval")
	flags.BoolVar(&s.stream, "stream", true, "let small writes share segments")
	flags.StringVar(&s.crypt, "crypt", "null", "`cipher` of the packets: "+cipherNames())
	flags.StringVar(&s.key, "key", "it's a secrect", "`passphrase` that the cipher's key is made of; the default is kcptun's")
	flags.IntVar(&s.dataShards, "datashard", 0, "data packets of an FEC `group`; 0, as --parityshard: no FEC")
	flags.IntVar(&s.parityShards, "parityshard", 0, "parity packets of an FEC `group`")
}

func (s *settings) check() error {
	if s.mtu < 50 || s.mtu > 1500 {
		return usageErrorf("--mtu %d: expected 50 to 1500", s.mtu)
	}
	if s.sndWnd < 1 || s.rcvWnd < 1 || s.sndWnd > 65535 || s.rcvWnd > 65535 {
		return usageErrorf("--sndwnd %d, --rcvwnd %d: expected 1 to 65535", s.sndWnd, s.rcvWnd)
	}
	return nil
}

// checkSession is check for those that have sessionFlags.
func (s *settings) checkSession() error {
	_, err := cipherOf(s.crypt)
	if s.dataShards != 0 || s.parityShards != 0 {
		err = errors.Join(err, checkRatio(s.dataShards, s.parityShards))
	}
	return errors.Join(err, s.check())
}

// checkRatio refuses what kcp-go would take for no FEC.
func checkRatio(dataShards, parityShards int) error {
	if dataShards < 1 || parityShards < 1 || dataShards+parityShards > 256 {
		return usageErrorf("FEC %d/%d: expected 1 or more of both, and 256 at most in all",
			dataShards, parityShards)
	}
	return nil
}

// listen opens a listener.
func (s *settings) listen(address string) (*kcp.Listener, error) {
	cipher, err := newCipher(s.crypt, s.key)
	if err != nil {
		return nil, err
	}
	listener, err := kcp.ListenWithOptions(address, cipher, s.dataShards, s.parityShards)
	if err != nil {
		return nil, err
	}
	if err := setBuffers(listener, s.sockBuf); err != nil {
		return nil, err
	}
	fmt.Printf("listening %v\n", listener.Addr())
	return listener, nil
}

// accept waits for the next session.
func (s *settings) accept(listener *kcp.Listener) (*kcp.UDPSession, error) {
	session, err := listener.AcceptKCP()
	if err != nil {
		return nil, err
	}
	return session, s.apply(session)
}

// dial opens a session on a socket of its own.
func (s *settings) dial(address string) (*kcp.UDPSession, error) {
	cipher, err := newCipher(s.crypt, s.key)
	if err != nil {
		return nil, err
	}
	session, err := kcp.DialWithOptions(address, cipher, s.dataShards, s.parityShards)
	if err != nil {
		return nil, err
	}
	return session, errors.Join(s.apply(session), setBuffers(session, s.sockBuf))
}

func (s *settings) apply(session *kcp.UDPSession) error {
	session.SetNoDelay(s.noDelay, s.interval, s.resend, s.nc)
	session.SetWindowSize(s.sndWnd, s.rcvWnd)
	if !session.SetMtu(s.mtu) {
		return usageErrorf("--mtu %d: too small for the headers of cipher and FEC", s.mtu)
	}
	session.SetACKNoDelay(s.ackNoDelay)
	session.SetWriteDelay(s.writeDelay)
	session.SetStreamMode(s.stream)
	return nil
}

// linger leaves the last acknowledgements time to go: kcp-go sends them at its interval, and
// nothing waits for them.
func (s *settings) linger() {
	time.Sleep(2 * time.Duration(max(s.interval, 10)) * time.Millisecond)
}

type buffered interface {
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

func setBuffers(socket buffered, bytes int) error {
	if err := socket.SetReadBuffer(bytes); err != nil {
		return err
	}
	return socket.SetWriteBuffer(bytes)
}

// closeWhenQuiet closes a session once its count of bytes has not changed for the given time: KCP
// has no end of a session on the wire. A read deadline would cost the reader a timer per read.
func closeWhenQuiet(session *kcp.UDPSession, bytes *atomic.Int64, quiet time.Duration) {
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
