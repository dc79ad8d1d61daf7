package kcpgo

import (
	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/kcp-go/v5"
)

// Counters are those of kcp-go, summed over all sessions of this process.
type Counters struct {
	Retransmitted  uint64 `json:"retransmitted"`
	Lost           uint64 `json:"lost"`
	Repeated       uint64 `json:"repeated"`
	ChecksumErrors uint64 `json:"checksum_errors"` // AEAD tags that do not match included
	KCPErrors      uint64 `json:"kcp_errors"`
	FECParity      uint64 `json:"fec_parity"` // received
	FECRecovered   uint64 `json:"fec_recovered"`
	FECErrors      uint64 `json:"fec_errors"`
	OOB            uint64 `json:"oob"` // received
}

// CountersNow reads the counters.
func CountersNow() Counters {
	c := kcp.DefaultSnmp.Copy()
	return Counters{
		Retransmitted:  c.RetransSegs,
		Lost:           c.LostSegs,
		Repeated:       c.RepeatSegs,
		ChecksumErrors: c.InCsumErrors,
		KCPErrors:      c.KCPInErrors,
		FECParity:      c.FECParityShards,
		FECRecovered:   c.FECRecovered,
		FECErrors:      c.FECErrs,
		OOB:            c.OOBPackets,
	}
}

// ExitOnEOF prints the counters and ends the process when standard input ends.
func ExitOnEOF() {
	cli.ExitOnEOF(func() any { return CountersNow() })
}
