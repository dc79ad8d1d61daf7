// Package kcpgo opens sessions of kcp-go, and of smux over them, with the flags and the ciphers of
// kcptun.
package kcpgo

import (
	"errors"
	"flag"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// Settings are the settings of a kcp-go session, named as kcptun names them.
type Settings struct {
	NoDelay, Interval, Resend, NC int
	SndWnd, RcvWnd                int
	MTU                           int
	AckNoDelay, WriteDelay        bool
	Stream                        bool
	SockBuf                       int
	Crypt, Key                    string
	DataShards, ParityShards      int
}

// defaultSettings are those of kcp4j, but for congestion control.
var defaultSettings = Settings{
	NoDelay: 1, Interval: 20, Resend: 2, NC: 1, SndWnd: 256, RcvWnd: 256, MTU: 1200, Stream: true,
	SockBuf: 4 << 20, Crypt: "null", Key: DefaultKey,
}

// DefaultKey is the passphrase of kcptun.
const DefaultKey = "it's a secrect"

// ARQFlags declares the flags of settings that kcp-go's raw KCP type has too. The defaults are
// those of kcp4j.
func (s *Settings) ARQFlags(flags *flag.FlagSet) {
	*s = defaultSettings
	s.arqFlags(flags)
}

// SessionFlags declares the flags of all settings of kcp4j, with its defaults.
func (s *Settings) SessionFlags(flags *flag.FlagSet) {
	*s = defaultSettings
	s.TunnelFlags(flags)
	flags.BoolVar(&s.WriteDelay, "writedelay", s.WriteDelay, "let writes wait for the interval")
	flags.BoolVar(&s.Stream, "stream", s.Stream, "let small writes share segments")
}

// TunnelFlags declares the flags of settings that kcptun has too. The defaults are the values that
// the settings have.
func (s *Settings) TunnelFlags(flags *flag.FlagSet) {
	s.arqFlags(flags)
	flags.BoolVar(&s.AckNoDelay, "acknodelay", s.AckNoDelay, "acknowledge every datagram at once")
	flags.StringVar(&s.Crypt, "crypt", s.Crypt, "`cipher` of the packets: "+cipherNames())
	flags.StringVar(&s.Key, "key", s.Key,
		"`passphrase` that the cipher's key is derived from; the default is kcptun's")
	flags.IntVar(&s.DataShards, "datashard", s.DataShards,
		"data packets of an FEC `group`; 0, as --parityshard: no FEC")
	flags.IntVar(&s.ParityShards, "parityshard", s.ParityShards, "parity packets of an FEC `group`")
}

func (s *Settings) arqFlags(flags *flag.FlagSet) {
	flags.IntVar(&s.NoDelay, "nodelay", s.NoDelay,
		"1: timeouts grow by half and are at least 30 ms; 0: they double, at least 100 ms")
	flags.IntVar(&s.Interval, "interval", s.Interval, "flush interval in `ms`, 10 to 5000")
	flags.IntVar(&s.Resend, "resend", s.Resend, "fast retransmit after that many later ACKs; 0: never")
	flags.IntVar(&s.NC, "nc", s.NC, "1: no congestion control")
	flags.IntVar(&s.SndWnd, "sndwnd", s.SndWnd, "send window in `segments`")
	flags.IntVar(&s.RcvWnd, "rcvwnd", s.RcvWnd, "receive window in `segments`")
	flags.IntVar(&s.MTU, "mtu", s.MTU, "largest UDP payload in `bytes`, 50 to 1500")
	flags.IntVar(&s.SockBuf, "sockbuf", s.SockBuf, "socket buffers in `bytes`")
}

// CheckARQ checks what ARQFlags has declared.
func (s *Settings) CheckARQ() error {
	if s.MTU < 50 || s.MTU > 1500 {
		return cli.UsageErrorf("--mtu %d: expected 50 to 1500", s.MTU)
	}
	if s.SndWnd < 1 || s.RcvWnd < 1 || s.SndWnd > 65535 || s.RcvWnd > 65535 {
		return cli.UsageErrorf("--sndwnd %d, --rcvwnd %d: expected 1 to 65535", s.SndWnd, s.RcvWnd)
	}
	return nil
}

// CheckSession checks what SessionFlags or TunnelFlags has declared.
func (s *Settings) CheckSession() error {
	_, err := cipherOf(s.Crypt)
	if s.DataShards != 0 || s.ParityShards != 0 {
		err = errors.Join(err, CheckRatio(s.DataShards, s.ParityShards))
	}
	return errors.Join(err, s.CheckARQ())
}

// CheckRatio refuses ratios for which kcp-go would switch FEC off.
func CheckRatio(dataShards, parityShards int) error {
	if dataShards < 1 || parityShards < 1 || dataShards+parityShards > 256 {
		return cli.UsageErrorf("FEC %d/%d: expected at least 1 of both, and at most 256 in all",
			dataShards, parityShards)
	}
	return nil
}
