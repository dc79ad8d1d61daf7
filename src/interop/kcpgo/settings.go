// Package kcpgo opens sessions of kcp-go with the flags and the ciphers of kcptun.
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

// ARQFlags declares the flags of settings that kcp-go's raw KCP type has too.
func (s *Settings) ARQFlags(flags *flag.FlagSet) {
	flags.IntVar(&s.NoDelay, "nodelay", 1,
		"1: timeouts grow by half and are at least 30 ms; 0: they double, at least 100 ms")
	flags.IntVar(&s.Interval, "interval", 20, "flush interval in `ms`, 10 to 5000")
	flags.IntVar(&s.Resend, "resend", 2, "fast retransmit after that many later ACKs; 0: never")
	flags.IntVar(&s.NC, "nc", 1, "1: no congestion control")
	flags.IntVar(&s.SndWnd, "sndwnd", 256, "send window in `segments`")
	flags.IntVar(&s.RcvWnd, "rcvwnd", 256, "receive window in `segments`")
	flags.IntVar(&s.MTU, "mtu", 1400, "largest UDP payload in `bytes`, 50 to 1500")
	flags.IntVar(&s.SockBuf, "sockbuf", 4<<20, "socket buffers in `bytes`")
}

// SessionFlags declares the flags of all settings.
func (s *Settings) SessionFlags(flags *flag.FlagSet) {
	s.ARQFlags(flags)
	flags.BoolVar(&s.AckNoDelay, "acknodelay", false, "acknowledge every datagram at once")
	flags.BoolVar(&s.WriteDelay, "writedelay", false, "let writes wait for the interval")
	flags.BoolVar(&s.Stream, "stream", true, "let small writes share segments")
	flags.StringVar(&s.Crypt, "crypt", "null", "`cipher` of the packets: "+cipherNames())
	flags.StringVar(&s.Key, "key", "it's a secrect",
		"`passphrase` that the cipher's key is derived from; the default is kcptun's")
	flags.IntVar(&s.DataShards, "datashard", 0,
		"data packets of an FEC `group`; 0, as --parityshard: no FEC")
	flags.IntVar(&s.ParityShards, "parityshard", 0, "parity packets of an FEC `group`")
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

// CheckSession checks what SessionFlags has declared.
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
