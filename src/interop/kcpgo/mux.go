package kcpgo

import (
	"flag"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/smux"
)

// MuxSettings are the settings of a session of smux, named as kcptun names them.
type MuxSettings struct {
	Version                                int
	ReceiveBuffer, StreamBuffer, FrameSize int
	KeepAlive                              int // seconds
}

// keepAlives is how many intervals without a frame end a session.
const keepAlives = 3

// Flags declares the flags of all settings. The defaults are the values that the settings have.
func (m *MuxSettings) Flags(flags *flag.FlagSet) {
	flags.IntVar(&m.Version, "smuxver", m.Version, "`version` of smux, 1 or 2")
	flags.IntVar(&m.ReceiveBuffer, "smuxbuf", m.ReceiveBuffer,
		"`bytes` that a session has received and that are unread, in all its streams")
	flags.IntVar(&m.StreamBuffer, "streambuf", m.StreamBuffer,
		"`bytes` that a stream has received and that are unread, in version 2")
	flags.IntVar(&m.FrameSize, "framesize", m.FrameSize, "largest payload of a frame, in `bytes`")
	flags.IntVar(&m.KeepAlive, "keepalive", m.KeepAlive,
		"`seconds` between two frames that keep a session alive")
}

// Check checks what Flags has declared.
func (m *MuxSettings) Check() error {
	if err := smux.VerifyConfig(m.Config()); err != nil {
		return cli.UsageErrorf("smux: %v", err)
	}
	return nil
}

// Config returns the settings as smux takes them.
func (m *MuxSettings) Config() *smux.Config {
	interval := time.Duration(m.KeepAlive) * time.Second
	return &smux.Config{
		Version: m.Version, MaxReceiveBuffer: m.ReceiveBuffer, MaxStreamBuffer: m.StreamBuffer,
		MaxFrameSize: m.FrameSize, KeepAliveInterval: interval, KeepAliveTimeout: keepAlives * interval,
	}
}
