// Package tunnel does what kcptun does: it carries TCP connections as streams of smux, over
// sessions of kcp-go.
package tunnel

import (
	"errors"
	"flag"
	"net"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
)

// settings have the names and the defaults of kcptun.
type settings struct {
	session   kcpgo.Settings
	mux       kcpgo.MuxSettings
	mode      string
	noComp    bool
	closeWait int // seconds
	halfClose bool
	untilEOF  bool
}

// newSettings returns what differs between client and server, and what has no flag.
func newSettings(sndWnd, rcvWnd, closeWait int) settings {
	return settings{
		session: kcpgo.Settings{
			Interval: 50, SndWnd: sndWnd, RcvWnd: rcvWnd, MTU: 1350, Stream: true, SockBuf: 4 << 20,
			Crypt: "aes", Key: kcpgo.DefaultKey, DataShards: 10, ParityShards: 3,
		},
		mux: kcpgo.MuxSettings{
			Version: 2, ReceiveBuffer: 4 << 20, StreamBuffer: 2 << 20, FrameSize: 8 << 10, KeepAlive: 10,
		},
		closeWait: closeWait,
	}
}

func (s *settings) flags(flags *flag.FlagSet) {
	s.session.TunnelFlags(flags)
	s.mux.Flags(flags)
	flags.StringVar(&s.mode, "mode", "fast",
		"normal, fast, fast2, fast3, or manual: --nodelay, --interval, --resend and --nc")
	flags.BoolVar(&s.noComp, "nocomp", false, "do not compress")
	flags.IntVar(&s.closeWait, "closewait", s.closeWait,
		"`seconds` from the end of one direction until both are closed")
	flags.BoolVar(&s.halfClose, "half-close", false,
		"forward the end of a direction, and close both when both have ended; kcptun cannot do that")
	flags.BoolVar(&s.untilEOF, "exit-on-eof", false, "exit when standard input ends")
}

// check also sets what the mode stands for.
func (s *settings) check() error {
	return errors.Join(s.applyMode(), s.session.CheckSession(), s.mux.Check())
}

func (s *settings) applyMode() error {
	k := &s.session
	switch s.mode {
	case "normal":
		k.NoDelay, k.Interval, k.Resend, k.NC = 0, 40, 2, 1
	case "fast":
		k.NoDelay, k.Interval, k.Resend, k.NC = 0, 30, 2, 1
	case "fast2":
		k.NoDelay, k.Interval, k.Resend, k.NC = 1, 20, 2, 1
	case "fast3":
		k.NoDelay, k.Interval, k.Resend, k.NC = 1, 10, 2, 1
	case "manual":
	default:
		return cli.UsageErrorf("--mode %q: expected normal, fast, fast2, fast3 or manual", s.mode)
	}
	return nil
}

// compress returns what smux runs over.
func (s *settings) compress(conn net.Conn) net.Conn {
	if s.noComp {
		return conn
	}
	return newCompressedConn(conn)
}

func (s *settings) closeDelay() time.Duration {
	return time.Duration(s.closeWait) * time.Second
}
